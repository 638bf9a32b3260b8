-- Among these, the items whose lease, timeout, wait, hold or time in the queue is over by now, and those leased to the life $2 of a
-- worker, where it is the latest of its name; and what is known of their workers.
select i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.ledger, i.created_at,
       i.worker, i.started_at, i.state, i.lease_until, i.timeout_at, i.queue_ttl, i.lease_token, i.refused_by,
       i.runtime, i.compensates, i.awaiting, i.placed, i.action_gate, i.key_gate,
       w.last_heartbeat, w.registered_at, w.version,
       nullif((select count(*) from tenax.worker a
                where i.state = 'leased' and a.state <> 'gone' and a.serves is null and i.runtime = any(a.runtimes)
                  and i.queue = any(a.queues) and (i.labels is null or i.labels <@ a.labels)), 0)::integer as able
  from tenax.item i
  left join tenax.worker w on w.name = i.worker
 where i.id = any($1::bigint[])
   and (i.state = 'leased' and i.expires_at <= tenax.now()
           and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
        or i.state = 'leased' and w.life = $2::uuid and i.started_at >= w.registered_at
        or i.state in ('accepted', 'held') and i.expires_at <= tenax.now()
        or i.state in ('queued', 'retrying') and i.queue_deadline <= tenax.now())
 order by i.id
   for update of i
