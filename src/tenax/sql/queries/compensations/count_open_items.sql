-- What is still open of an execution: actions, compensations that have been started, compensations that have not.
select exists (select from tenax.item where execution_id = $1::bigint and not compensates) as actions,
       exists (select from tenax.item where execution_id = $1 and compensates and state <> 'waiting') as compensating,
       exists (select from tenax.item where execution_id = $1 and compensates and state = 'waiting') as waiting
