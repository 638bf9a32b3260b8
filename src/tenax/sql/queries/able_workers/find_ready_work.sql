-- Finds the ready work of an execution ($1), or of these items ($2), with its requirements, its limits, and how many
-- items run under them. Returns one item of each kind of a step: an item that was found to be at a limit, or else the
-- item that has waited longest.
with ready as (
    select distinct on (i.execution_id, i.step, i.queue, i.runtime, i.labels, (i.limits).action, (i.limits).action_most)
           i.execution_id, i.step, i.queue, i.runtime, i.labels, i.available_at as since,
           (i.limits).action, (i.limits).action_most, (i.limits).key, (i.limits).key_most
      from tenax.item i
     where (i.execution_id = $1::bigint or i.id = any($2::bigint[]))
       and i.standing in ('ready', 'restricted', 'blocked') and i.available_at <= tenax.now() and i.queue <> $3::text and i.queue <> 'tenax:budget'
     order by i.execution_id, i.step, i.queue, i.runtime, i.labels, (i.limits).action, (i.limits).action_most, i.standing = 'blocked' desc, i.available_at
     limit 1000
), used as (
    select l.queue, l.concurrency, l.rate, l.paused_by, l.paused_why,
           case when l.concurrency is not null
                then (select count(*) from tenax.item i where i.queue = l.queue and i.state = 'leased') end as running,
           least(l.burst, l.tokens + l.rate * greatest(0, extract(epoch from tenax.now() - l.refilled_at))) as tokens
      from tenax.queue_limit l
     where l.queue in (select queue from ready)
)
select r.*,
       case when r.action is not null
            then (select count(*) from tenax.item i where (i.limits).action = r.action and i.standing = 'running') end as action_running,
       array(select distinct i.execution_id from tenax.item i
              where (i.limits).action = r.action and i.standing = 'running' order by 1 limit 5) as action_held_by,
       case when r.key is not null
            then (select count(*) from tenax.item i where (i.limits).key = r.key and i.standing = 'running') end as key_running,
       array(select distinct i.execution_id from tenax.item i
              where (i.limits).key = r.key and i.standing = 'running' order by 1 limit 5) as key_held_by,
       u.concurrency as queue_most, u.running as queue_running, u.rate, u.tokens,
       u.paused_by, u.paused_why
  from ready r
  left join used u using (queue)
 order by r.execution_id, r.since
