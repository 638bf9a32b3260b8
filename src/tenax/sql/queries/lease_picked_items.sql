-- What pick_ready_items or pick_chosen_items gives goes to the slots that ask, by their number.
leased as (
    update tenax.item i
       set state = 'leased', attempt = i.attempt + 1, worker = s.worker, lease_grant = s.lease_grant,
           lease_token = gen_random_uuid(),
           started_at = tenax.now(), lease_until = tenax.now() + make_interval(secs => $3::double precision),
           timeout_at = tenax.now() + make_interval(secs => i.timeout + $4::double precision), queue_deadline = null
      from picked p
      join unnest($1::text[], $2::uuid[]) with ordinality as s (worker, lease_grant, n) on s.n = p.n
     where i.id = p.id
    returning i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.timeout,
              i.worker, i.lease_grant, i.lease_token, i.started_at, i.compensates, i.element, i.previous, i.vary,
              i.ledger is not null and (i.ledger ->> 'counted')::integer + (i.ledger ->> 'exempted')::integer > 0 as is_retry
), logged as (
    insert into tenax.log (execution_id, at, events)
    select execution_id, started_at,
           jsonb_build_array(jsonb_build_object(
               'type', case when compensates then 'compensation_started' else 'action_started' end, 'step', step, 'item', item_no, 'attempt', attempt,
               'data', jsonb_build_object('worker', worker, 'retry', jsonb_build_object(
                   'attempt', attempt, 'max_attempts', max_attempts, 'is_retry', is_retry))
                   || case when vary is null then '{}'::jsonb else jsonb_build_object('vary', vary) end))
      from leased
)
select l.id, l.execution_id, l.plan_id, l.step, l.attempt, l.max_attempts, l.timeout, l.worker, l.lease_grant, l.lease_token,
       l.is_retry, case when l.first and pg_column_size(e.input) < 8192 then e.input end, e.base_dir, l.item_no, l.compensates, l.element, l.previous, l.vary
  from (select leased.*, row_number() over (partition by execution_id) = 1 as first from leased) as l
 cross join lateral (
    -- One row each, by its index, however many executions there are. Its input comes once, and not
    -- at all where it is large: `load_inputs` has it, for those who read it.
    select x.input, x.base_dir from tenax.execution x where x.id = l.execution_id limit 1
 ) as e
