-- Resumes a schedule. Its failures are counted from now on.
update tenax.schedule s
   set next_tick = $2::timestamptz, look_at = $3::timestamptz, paused_by = null, paused_why = null, paused_at = null,
       counted_from = coalesce((select max(r.id) from tenax.schedule_run r where r.schedule = s.name), 0)
 where name = $1::text
