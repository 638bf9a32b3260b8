-- What later steps may read of these steps.
select s.execution_id, s.step, s.state, s.attempts, s.result, s.failure, s.failures
  from unnest($1::bigint[], $2::text[]) as r (execution_id, step)
  join tenax.step s on s.execution_id = r.execution_id and s.step = r.step
