-- Ends the fan-outs of executions that have ended. They give no more slots, and later searches skip them.
update tenax.fan set parallelism = null where execution_id = any($1::bigint[]) and not closed and parallelism is not null
