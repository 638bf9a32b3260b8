-- Changes the state of a job. $5 is the person who starts or resumes it.
update tenax.bulk_job
   set state = $2::text, note = $3, canary_state = $4, started_by = coalesce($5::text, started_by),
       started_at = case when $2::text = 'running' then coalesce(started_at, tenax.now()) else started_at end,
       finished_at = case when $2::text = 'completed' then tenax.now() end
 where id = $1
