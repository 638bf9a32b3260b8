-- Ready items that every live worker able to run them has refused: nobody has a handler for them.
select i.id, i.execution_id
  from tenax.item i
 where i.refused_by is not null and i.state in ('queued', 'retrying')
   and exists (select from tenax.worker w
                where w.state = 'active' and w.last_heartbeat > tenax.now() - make_interval(secs => $1::double precision))
   and not exists (
           select from tenax.worker w
            where w.state = 'active' and w.last_heartbeat > tenax.now() - make_interval(secs => $1::double precision)
              and i.runtime = any(w.runtimes) and i.queue = any(w.queues)
              and (i.labels is null or i.labels <@ w.labels) and w.name <> all(i.refused_by))
 order by i.id
 limit 500
