(e.failure ->> 'message' ilike any(:contained::text[])
 or exists (select from tenax.item i where i.execution_id = e.id and i.last_error ilike any(:contained::text[])))
