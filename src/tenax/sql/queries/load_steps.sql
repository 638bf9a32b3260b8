-- How far these steps are. A step that is not there is still untouched.
select s.execution_id, s.step, s.state, s.waiting_for
  from unnest($1::bigint[], $2::text[]) as r (execution_id, step)
  join tenax.step s on s.execution_id = r.execution_id and s.step = r.step
