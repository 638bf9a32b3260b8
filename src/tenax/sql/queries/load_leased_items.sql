-- The items whose lease is still the one that is named. What is missing here is late. They need no lock of their own: a
-- lease is ended only by one who holds the lock of its execution.
select i.*
  from unnest($1::text::bigint[], $2::uuid[]) as r (id, token)
 cross join lateral (
    -- One by one, by the key: with the limit no plan can begin with the items. Only a leased item has a token.
    select i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.ledger, i.created_at,
           i.worker, i.started_at, i.state, i.lease_until, i.timeout_at, i.queue_ttl, i.lease_token, i.refused_by,
           i.runtime, i.compensates, i.awaiting, i.placed, i.action_gate, i.key_gate
      from tenax.item i
     where i.id = r.id and i.lease_token = r.token
     limit 1
 ) as i
