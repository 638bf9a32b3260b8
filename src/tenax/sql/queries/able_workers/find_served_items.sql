-- Finds those of these items that a live worker is able to run, as in find_able_workers: heard of within $2 seconds,
-- or since service began again. A worker that is paused, or drained by the server, counts as live. One that serves a
-- single execution is able to run the items of that execution and its children.
with recursive line (item_id, id, parent_id) as (
    select i.id, e.id, e.parent_id
      from tenax.item i
      join tenax.execution e on e.id = i.execution_id
     where i.id = any($1::bigint[]) and exists (select from tenax.worker w where w.serves is not null and w.state <> 'gone')
    union all
    select l.item_id, e.id, e.parent_id from line l join tenax.execution e on e.id = l.parent_id
), here as materialized (
    select w.runtimes, w.queues, w.labels, w.serves
      from tenax.worker w
     cross join tenax.service s
     where (w.state in ('active', 'paused') or w.state = 'draining' and w.state_actor = 'tenax:server')
       and greatest(w.last_heartbeat, s.reap_after - make_interval(secs => $2::double precision)) > tenax.now() - make_interval(secs => $2)
)
select i.id
  from tenax.item i
 where i.id = any($1)
   and exists (
          select from here w
           where i.runtime = any(w.runtimes)
             and case when w.serves is null then i.queue = any(w.queues) and (i.labels is null or i.labels <@ w.labels)
                      else exists (select from line l where l.item_id = i.id and l.id = w.serves) end)
