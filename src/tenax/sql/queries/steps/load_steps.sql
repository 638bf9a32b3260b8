-- Loads the states of these steps. A step without a row has not been touched yet.
select s.*
  from unnest($1::bigint[], $2::text[]) as r (execution_id, step)
 cross join lateral (
    -- Finds row by row by the key. With the limit no plan can begin with the steps.
    select s.execution_id, s.step, s.state, s.waiting_for
      from tenax.step s
     where s.execution_id = r.execution_id and s.step = r.step
     limit 1
 ) as s
