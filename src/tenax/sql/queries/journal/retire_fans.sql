-- The executions are over: their fan-outs have no more places to hand out, and nobody need look at them again.
update tenax.fan set parallelism = null where execution_id = any($1::bigint[]) and not closed and parallelism is not null
