-- Returns what is still open of an execution: actions, started compensations, and compensations that have not been
-- started.
select exists (select from tenax.item where execution_id = $1::bigint and not compensates) as actions,
       exists (select from tenax.item where execution_id = $1 and compensates and state <> 'waiting') as compensating,
       exists (select from tenax.item where execution_id = $1 and compensates and state = 'waiting') as waiting
