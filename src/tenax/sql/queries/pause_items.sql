-- Nothing of these executions is leased while they are paused; their time in the queue does not run, and at a limit they are
-- not in the way of others: there they are looked at anew.
update tenax.item i
   set paused = $2::boolean, blocked = false,
       queue_deadline = case when $2 then null
                             when i.placed and i.state in ('queued', 'retrying')
                             then greatest(i.available_at, tenax.now()) + make_interval(secs => i.queue_ttl) end
 where i.execution_id = any($1::bigint[]) and i.paused <> $2
