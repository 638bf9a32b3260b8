-- Counts workers that were heard of within $1 seconds.
select count(*)
  from tenax.worker
 where state = 'active' and last_heartbeat > tenax.now() - make_interval(secs => $1::double precision)
