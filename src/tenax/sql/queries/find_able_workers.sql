-- Workers alive within $3 seconds that have this runtime and queue.
select name
  from tenax.worker
 where state = 'active' and last_heartbeat > tenax.now() - make_interval(secs => $3::double precision)
   and $1::text = any(runtimes) and $2::text = any(queues)
