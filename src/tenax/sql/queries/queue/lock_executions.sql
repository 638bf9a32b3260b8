-- Everything that changes an execution locks it first, in the order of the ids. Its input may be large: `load_inputs` has it. The time
-- is that at which all the locks are held: whoever held one before wrote an earlier one.
with locked as materialized (
    select id, plan_id, state, open_steps, base_dir, retry_of, original_execution, created_at, deadline_at,
           parent_id, compensation, failure, lane
      from tenax.execution
     where id = any($1::bigint[])
     order by id
       for update
)
select l.*, (select tenax.clock() from (select count(*) from locked) as all_locked) as now
  from locked l
 order by l.id
