-- Accepted items of an execution that wait for this; of one step and place where they are named. The longest wait first.
select i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.ledger, i.created_at,
       i.worker, i.started_at, i.state, i.lease_until, i.timeout_at, i.queue_ttl, i.lease_token, i.refused_by,
       i.runtime, i.compensates, i.awaiting, i.placed, i.action_gate, i.key_gate
  from tenax.item i
 where i.execution_id = $1::bigint and i.state = 'accepted' and i.awaiting = $2::text
   and ($3::text is null or i.step = $3) and ($4::integer is null or i.item_no = $4)
 order by i.started_at, i.id
   for update of i
