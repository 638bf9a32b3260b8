-- Leases and attempts that have run out (unless service was interrupted less than a lease ago), waits and holds that have, and
-- items that have waited in the queue for too long; but not those of $2.
select i.id, i.execution_id
  from tenax.item i
 where i.state = 'leased' and i.expires_at <= tenax.now() and i.id <> all($2::bigint[])
   and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
union all
select i.id, i.execution_id
  from tenax.item i
 where i.state = 'accepted' and i.expires_at <= tenax.now() and i.id <> all($2::bigint[])
union all
select i.id, i.execution_id
  from tenax.item i
 where i.state = 'held' and i.timeout_at <= tenax.now() and i.id <> all($2::bigint[])
union all
select i.id, i.execution_id
  from tenax.item i
 where i.state in ('queued', 'retrying') and i.queue_deadline <= tenax.now() and i.id <> all($2::bigint[])
 limit $1::integer
