-- Finds ready items that every live worker able to run them (as in find_able_workers) has refused, because none has a
-- handler for them. After a gap in service, workers have the length of a lease to come back.
with recursive here as materialized (
    select w.*
      from tenax.worker w
     where (w.state in ('active', 'paused') or w.state = 'draining' and w.state_actor = 'tenax:server')
       and w.last_heartbeat > tenax.now() - make_interval(secs => $1::double precision)
), own (id, worker, runtimes) as (
    select h.serves, h.name, h.runtimes from here h where h.serves is not null
    union all
    select c.id, o.worker, o.runtimes from own o join tenax.execution c on c.parent_id = o.id
)
select i.id, i.execution_id
  from tenax.item i
 where i.refused_by is not null and i.state in ('queued', 'retrying')
   and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
   and (exists (select from here h where h.serves is null) or exists (select from own o where o.id = i.execution_id))
   and not exists (
           select from here h
            where h.serves is null and i.runtime = any(h.runtimes) and i.queue = any(h.queues)
              and (i.labels is null or i.labels <@ h.labels) and h.name <> all(i.refused_by))
   and not exists (
           select from own o
            where o.id = i.execution_id and i.runtime = any(o.runtimes) and o.worker <> all(i.refused_by))
 order by i.id
 limit 500
