-- Items of fan-outs and compensations that have not been started, and never will be: of these steps, or of all (null).
delete from tenax.item i
 where i.execution_id = any($1::bigint[]) and i.state = 'waiting' and ($2::text[] is null or i.step = any($2))
returning i.execution_id, i.step, i.item_no, i.compensates
