-- Among these, those that are still ready, with what their inputs are rendered from.
select i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.ledger, i.created_at,
       i.worker, i.started_at, i.state, i.lease_until, i.timeout_at, i.queue_ttl, i.lease_token, i.refused_by,
       i.runtime, i.compensates, i.awaiting, i.placed, i.action_gate, i.key_gate, i.element, i.vary, i.timeout
  from tenax.item i
 where i.id = any($1::bigint[]) and i.leasable and i.available_at <= tenax.now()
 order by i.id
   for update of i
