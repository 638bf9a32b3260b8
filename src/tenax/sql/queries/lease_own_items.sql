-- As lease_items, for a worker that serves one execution only (`tenax run`): it is all there is, so it takes items of any
-- queue and labels ($1 and $3 are only there to be the same parameters).
with picked as materialized (
    select i.id
      from tenax.item i
     where i.execution_id = $8::bigint and i.state in ('queued', 'retrying') and i.available_at <= tenax.now()
       and $1::text[] is not null and $3::jsonb is not null
       and i.runtime = any($2::text[])
       and (i.refused_by is null or not i.refused_by && $4::text[])
     order by i.priority desc, i.available_at
     limit cardinality($4::text[])
       for update skip locked
), leased as (
    update tenax.item i
       set state = 'leased', attempt = i.attempt + 1, worker = s.worker, lease_token = s.lease_grant,
           started_at = tenax.now(), lease_until = tenax.now() + make_interval(secs => $6::double precision),
           timeout_at = tenax.now() + make_interval(secs => i.timeout + $7::double precision), queue_deadline = null
      from (select id, row_number() over () as n from picked) as p
      join unnest($4::text[], $5::uuid[]) with ordinality as s (worker, lease_grant, n) on s.n = p.n
     where i.id = p.id
    returning i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.timeout,
              i.worker, i.lease_token, i.started_at
), logged as (
    insert into tenax.log (execution_id, at, events)
    select execution_id, started_at,
           jsonb_build_array(jsonb_build_object(
               'type', 'action_started', 'step', step, 'item', item_no, 'attempt', attempt,
               'data', jsonb_build_object('worker', worker, 'retry', jsonb_build_object(
                   'attempt', attempt, 'max_attempts', max_attempts, 'is_retry', attempt > 1))))
      from leased
)
select l.id, l.execution_id, l.plan_id, l.step, l.attempt, l.max_attempts, l.timeout, l.worker, l.lease_token,
       e.input, e.base_dir
  from leased l
  join tenax.execution e on e.id = l.execution_id
