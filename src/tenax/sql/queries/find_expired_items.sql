-- Leases, attempts and waits that have run out, and items that have waited in the queue for too long; but not those of $2.
-- Where service was interrupted less than a lease ago, nobody is given up yet who could not be heard.
select i.id, i.execution_id
  from tenax.item i
 where i.state in ('leased', 'accepted') and i.runtime <> 'sleep' and i.expires_at <= tenax.now() and i.id <> all($2::bigint[])
   and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
union all
select i.id, i.execution_id
  from tenax.item i
 where i.state = 'accepted' and i.runtime = 'sleep' and i.expires_at <= tenax.now() and i.id <> all($2::bigint[])
union all
select i.id, i.execution_id
  from tenax.item i
 where i.state in ('queued', 'retrying') and i.queue_deadline <= tenax.now() and i.id <> all($2::bigint[])
 limit $1::integer
