-- Locks those of these items whose lease, timeout, wait, hold or time in the queue is over, and those leased to the
-- life $2 of a worker if it is the latest of its name. Also returns what is known of their workers. A lease that
-- reached the timeout of its attempt has timed out. Any other lease was lost.
select {item_row},
       i.expires_at, coalesce(i.expires_at >= i.started_at + make_interval(secs => i.timeout), false) as timed_out,
       w.last_heartbeat, w.registered_at, w.version,
       nullif((select count(*) from tenax.worker a
                where i.state = 'leased' and a.state <> 'gone' and a.serves is null and i.runtime = any(a.runtimes)
                  and i.queue = any(a.queues) and (i.labels is null or i.labels <@ a.labels)), 0)::integer as able
  from tenax.item i
  left join tenax.worker w on w.name = i.worker
 where i.id = any($1::bigint[])
   and (i.state = 'leased' and i.expires_at <= tenax.now()
           and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
        or i.state = 'leased' and w.life = $2::uuid and i.started_at >= w.registered_at
        or i.state <> 'leased' and i.expires_at <= tenax.now())
 order by i.id
   for update of i
