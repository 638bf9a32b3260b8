-- Sums the dead letters with one of the statuses $1 that fit a filter by their fingerprint, the largest group first. Each
-- group has the message and the number of its newest letter, and the executions of its first and its newest one.
with found as (
    select l.fingerprint, l.class, l.reason, count(*)::integer as count, sum(l.failed_times)::integer as failed_times,
           min(l.first_at) as first_at, max(l.last_at) as last_at, min(l.execution_id) as first_execution,
           max(l.execution_id) as last_execution, array_agg(distinct l.workflow) as workflows, array_agg(distinct l.step) as steps
      from tenax.dead_letter l
     where l.status = any($1::text[]) and :conditions
     group by l.fingerprint, l.class, l.reason
     order by count(*) desc, max(l.last_at) desc
     limit $2::integer
)
select f.*, newest.item_id as newest, newest.message as example
  from found f
 cross join lateral (
    select l.item_id, l.message
      from tenax.dead_letter l
     where l.fingerprint = f.fingerprint and l.status = any($1) and :conditions
     order by l.last_at desc, l.item_id desc
     limit 1
 ) as newest
 order by f.count desc, f.last_at desc
