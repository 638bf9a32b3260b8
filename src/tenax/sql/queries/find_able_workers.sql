-- Workers alive within $2 seconds that are able to run this item.
select w.name
  from tenax.worker w
  join tenax.item i on i.id = $1::bigint
 where w.state = 'active' and w.last_heartbeat > tenax.now() - make_interval(secs => $2::double precision)
   and i.runtime = any(w.runtimes) and i.queue = any(w.queues) and (i.labels is null or i.labels <@ w.labels)
