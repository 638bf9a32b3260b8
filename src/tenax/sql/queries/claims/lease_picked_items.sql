-- Leases the picked items, each to a slot, for $3 seconds, or until $4 seconds after its timeout.
-- The slot has a token ($6), and the number ($5) of a request: its worker ($1) and grant ($2).
leased as (
    update tenax.item i
       set state = 'leased', attempt = i.attempt + 1, worker = ($1::text[])[p.request], lease_grant = ($2::uuid[])[p.request],
           lease_token = p.token,
           -- The item may have been queued since this statement began.
           started_at = greatest(tenax.now(), i.available_at),
           expires_at = tenax.now() + make_interval(secs => least($3::double precision, i.timeout + $4::double precision))
      from picked p
     where i.ctid = p.place
    returning p.n::integer, i.id, i.execution_id, i.plan_id, i.step, i.attempt, i.max_attempts, i.timeout, i.base_dir, i.item_no,
              i.started_at, i.compensates, i.ledger is null as fresh,
              coalesce((i.ledger ->> 'counted')::integer + (i.ledger ->> 'exempted')::integer > 0, false) as is_retry,
              i.element, i.previous, i.vary, i.lane, i.ledger, i.policy, i.runtime,
              date_part('epoch', i.created_at) as created, i.worker
), logged as (
    insert into tenax.log (execution_id, at, events)
    -- Written as text: building nested objects costs more than all other work on the row.
    select execution_id, started_at,
           concat('[{"type":"', case when compensates then 'compensation_started' else 'action_started' end,
                  '","step":', to_json(step), ',"item":' || item_no, ',"attempt":', attempt,
                  ',"data":{"worker":', to_json(worker), ',"retry":{"attempt":', attempt,
                  ',"max_attempts":', coalesce(max_attempts::text, 'null'), ',"is_retry":', is_retry::text, '}',
                  ',"vary":' || vary::text, case when runtime = 'http' then ',"item_id":' || id end,
                  case when attempt > 1 then (
                      select concat(',"resumed_from":', c.attempt) from tenax.checkpoint c
                       where c.execution_id = l.execution_id and c.step = l.step and c.item_no = coalesce(l.item_no, -1)
                         and c.compensates = l.compensates) end, '}}]')
      from leased l
)
select n, id, execution_id, plan_id, step, attempt, max_attempts, timeout, base_dir, item_no, started_at, compensates, fresh,
       is_retry, element, previous, vary, lane, ledger, policy, created
  from leased
