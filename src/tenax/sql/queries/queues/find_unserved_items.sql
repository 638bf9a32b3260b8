-- Finds items (without those in $4) that have been ready for $1 seconds while no live worker was able to run them. A
-- live worker was heard of within $2 seconds, or since service began again. A worker that is paused, or drained by the
-- server, counts as live. A worker that a person drains counts until the drain began. A worker that serves a single
-- execution counts for that execution only. After a gap in service all workers may come back first.
with recursive kinds as materialized (
    select i.queue, i.runtime, i.labels
      from tenax.item i
     where i.standing in ('ready', 'restricted') and i.available_at <= tenax.now() - make_interval(secs => $1::double precision) and i.queue <> $3::text and i.queue <> 'tenax:budget'
       and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
     group by 1, 2, 3
), here as materialized (
    select w.runtimes, w.queues, w.labels, w.serves
      from tenax.worker w
     cross join tenax.service s
     cross join lateral (
        select greatest(w.last_heartbeat, s.reap_after - make_interval(secs => $2::double precision)) as heard) as h
     where case when w.state = 'gone' then w.last_heartbeat > tenax.now() - make_interval(secs => $1)
                when w.state = 'draining' and w.state_actor is distinct from 'tenax:server' then w.state_since > tenax.now() - make_interval(secs => $1)
                else h.heard > tenax.now() - make_interval(secs => greatest($1, $2)) end
), unserved as materialized (
    select k.*
      from kinds k
     where not exists (
              select from here h
               where h.serves is null and k.runtime = any(h.runtimes) and k.queue = any(h.queues)
                 and (k.labels is null or k.labels <@ h.labels))
), own (id, runtimes) as (
    select h.serves, h.runtimes from here h where h.serves is not null
    union all
    select c.id, o.runtimes from own o join tenax.execution c on c.parent_id = o.id
)
select i.id, i.execution_id
  from unserved u
  join tenax.item i on i.queue = u.queue and i.runtime = u.runtime and i.labels is not distinct from u.labels
 where i.standing in ('ready', 'restricted') and i.available_at <= tenax.now() - make_interval(secs => $1) and i.id <> all($4::bigint[])
   and not exists (select from own o where o.id = i.execution_id and i.runtime = any(o.runtimes))
 order by i.id
 limit 500
