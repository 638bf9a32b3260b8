-- Locks those of these requests that no other server is starting now.
select execution_id, workflow, source, filename, base_dir, files, input, submit_key
  from tenax.requested_submission
 where execution_id = any($1::bigint[])
 order by execution_id
   for update skip locked
