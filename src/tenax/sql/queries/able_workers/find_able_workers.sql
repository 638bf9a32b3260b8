-- Finds live workers that are able to run this item: heard of within $2 seconds, or since service began again. A
-- worker that is paused, or drained by the server, counts as live. One that serves a single execution is able to run
-- the items of that execution and its children.
with recursive line (id, parent_id) as (
    select e.id, e.parent_id from tenax.item i join tenax.execution e on e.id = i.execution_id where i.id = $1::bigint
    union all
    select e.id, e.parent_id from line l join tenax.execution e on e.id = l.parent_id
)
select w.name
  from tenax.worker w
 cross join tenax.service s
  join tenax.item i on i.id = $1
 where (w.state in ('active', 'paused') or w.state = 'draining' and w.state_actor = 'tenax:server')
   and greatest(w.last_heartbeat, s.reap_after - make_interval(secs => $2::double precision)) > tenax.now() - make_interval(secs => $2)
   and i.runtime = any(w.runtimes)
   and case when w.serves is null then i.queue = any(w.queues) and (i.labels is null or i.labels <@ w.labels)
            else w.serves in (select id from line) end
