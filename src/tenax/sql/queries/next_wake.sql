-- When something next falls due, of each kind; less the items of $1.
select tenax.now() as now,
       (select min(available_at) from tenax.item where state = 'retrying' and available_at > tenax.now()) as retry,
       (select min(expires_at) from tenax.item
         where state in ('leased', 'accepted') and runtime <> 'sleep' and id <> all($1::bigint[])) as expiry,
       least((select min(queue_deadline) from tenax.item
               where state in ('queued', 'retrying') and queue_deadline is not null and id <> all($1::bigint[])),
             (select min(expires_at) from tenax.item
               where state = 'accepted' and runtime = 'sleep' and id <> all($1::bigint[]))) as queue,
       (select min(deadline_at) from tenax.execution
         where state in ('running', 'paused') and deadline_at is not null) as deadline,
       (select reap_after from tenax.service) as reap_after
