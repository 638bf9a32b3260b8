-- Finds those of these workers that have sent heartbeats and then none for $2 seconds. A worker that never sent one is
-- not silent.
select name
  from tenax.worker
 where name = any($1::text[]) and last_heartbeat > registered_at
   and last_heartbeat <= tenax.now() - make_interval(secs => $2::double precision)
