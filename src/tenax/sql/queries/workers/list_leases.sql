-- Lists the leases of a worker, the oldest first.
select execution_id, step, item_no, attempt, started_at, expires_at as lease_until, count(*) over () as total
  from tenax.item
 where state = 'leased' and worker = $1::text
 order by started_at
 limit $2::integer
