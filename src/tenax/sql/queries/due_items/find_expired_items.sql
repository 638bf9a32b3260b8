-- Finds items whose current state has expired, without those in $2. A lease expires only if service was not interrupted
-- for at least a lease.
select i.id, i.execution_id
  from tenax.item i
 where i.state = 'leased' and i.expires_at <= tenax.now() and i.id <> all($2::bigint[])
   and tenax.now() >= coalesce((select reap_after from tenax.service), '-infinity'::timestamptz)
union all
select i.id, i.execution_id
  from tenax.item i
 where i.state in ('accepted', 'held', 'queued', 'retrying') and i.expires_at <= tenax.now() and i.id <> all($2::bigint[])
 limit $1::integer
