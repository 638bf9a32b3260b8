-- Everything that changes an execution locks it first, in the order of the ids. Its input may be large: `load_inputs` has it.
select id, plan_id, state, open_steps, base_dir, retry_of, original_execution, created_at, deadline_at,
       parent_id, compensation, failure, lane, tenax.now() as now
  from tenax.execution
 where id = any($1::bigint[])
 order by id
   for update
