exists (select from tenax.execution e where e.id = l.execution_id and (:condition))
