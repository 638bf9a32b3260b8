-- Items that have been ready for $1 seconds, while for as long no worker was alive (heard of within $2 seconds) that is able to run
-- them. One that is paused is there; one that drains was, until it began to.
with kinds as materialized (
    select i.queue, i.runtime, i.labels
      from tenax.item i
     where i.leasable and i.available_at <= tenax.now() - make_interval(secs => $1::double precision) and i.queue <> $3::text
     group by 1, 2, 3
), unserved as materialized (
    select k.*
      from kinds k
     where not exists (
              select from tenax.worker w
               where k.runtime = any(w.runtimes) and k.queue = any(w.queues) and (k.labels is null or k.labels <@ w.labels)
                 and case w.state when 'gone' then w.last_heartbeat > tenax.now() - make_interval(secs => $1)
                                  when 'draining' then w.state_since > tenax.now() - make_interval(secs => $1)
                                  else w.last_heartbeat > tenax.now() - make_interval(secs => greatest($1, $2::double precision)) end)
)
select i.id, i.execution_id
  from unserved u
  join tenax.item i on i.queue = u.queue and i.runtime = u.runtime and i.labels is not distinct from u.labels
 where i.leasable and i.available_at <= tenax.now() - make_interval(secs => $1)
 order by i.id
 limit 500
