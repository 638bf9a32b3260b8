-- Sums the dead letters with one of the statuses $1 that fit a filter by their fingerprint, the largest group first. Each
-- group has the message and the number of its newest letter, and the executions of its first and its newest one. The
-- letters are first summed by workflow and step too, so that no list of all their names is sorted.
with parts as (
    select l.fingerprint, l.class, l.reason, l.workflow, l.step, count(*) as count, sum(l.failed_times) as failed_times,
           min(l.first_at) as first_at, max(l.last_at) as last_at, min(l.execution_id) as first_execution,
           max(l.execution_id) as last_execution
      from tenax.dead_letter l
     where l.status = any($1::text[]) and :conditions
     group by l.fingerprint, l.class, l.reason, l.workflow, l.step
), found as (
    select p.fingerprint, p.class, p.reason, sum(p.count)::integer as count, sum(p.failed_times)::integer as failed_times,
           min(p.first_at) as first_at, max(p.last_at) as last_at, min(p.first_execution) as first_execution,
           max(p.last_execution) as last_execution, array_agg(distinct p.workflow) as workflows, array_agg(distinct p.step) as steps
      from parts p
     group by p.fingerprint, p.class, p.reason
     order by sum(p.count) desc, max(p.last_at) desc
     limit $2::integer
)
select f.*, newest.item_id as newest, newest.message as example
  from found f
 cross join lateral (
    select l.item_id, l.message
      from tenax.dead_letter l
     where l.fingerprint = f.fingerprint and l.last_at = f.last_at and l.status = any($1::text[]) and :conditions
     order by l.item_id desc
     limit 1
 ) as newest
 order by f.count desc, f.last_at desc
