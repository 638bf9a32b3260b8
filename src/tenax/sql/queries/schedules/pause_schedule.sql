-- Pauses a schedule. Ticks that wait are dropped.
update tenax.schedule
   set look_at = null, waiting = '[]', paused_by = $2::text, paused_why = $3::text, paused_at = tenax.now()
 where name = $1::text
