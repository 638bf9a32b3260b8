(e.failure ->> 'message' ilike any(:contained::text[])
 or e.id in (select i.execution_id from tenax.item i where i.last_error ilike any(:contained::text[])))
