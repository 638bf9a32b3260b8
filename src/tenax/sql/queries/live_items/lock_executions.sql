-- Locks executions in the order of their ids. Every change of an execution begins with this. The input may be large, so
-- `load_inputs` loads it. All locks are held at the returned time, so an earlier holder of a lock has written an
-- earlier time.
with locked as materialized (
    select id, plan_id, state, open_steps, base_dir, retry_of, original_execution, created_at, deadline_at,
           parent_id, compensation, failure, lane, budgeted
      from tenax.execution
     where id = any($1::bigint[])
     order by id
       for update
)
select l.*, (select tenax.clock() from (select count(*) from locked) as all_locked) as now
  from locked l
 order by l.id
