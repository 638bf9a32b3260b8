-- Writes what a look at a schedule has changed.
update tenax.schedule
   set next_tick = $2::timestamptz, look_at = $3::timestamptz, waiting = $4::jsonb, last_execution = $5::bigint
 where name = $1::text
