-- Ends the fan-outs of executions that have ended: they give no more slots, and no later search looks at them.
update tenax.fan set parallelism = null where execution_id = any($1::bigint[]) and not closed and parallelism is not null
