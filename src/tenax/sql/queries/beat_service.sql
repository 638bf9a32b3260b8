-- A server is alive. If none was for longer than $1 seconds (having been alive before), no lease may expire for another $2: workers could not
-- have sent their heartbeats.
update tenax.service
   set reap_after = case
           when alive_at < tenax.now() - make_interval(secs => $1::double precision)
           then tenax.now() + make_interval(secs => $2::double precision)
           else reap_after end,
       alive_at = tenax.now()
returning reap_after
