-- Marks items as accepted: they go on without a worker until a callee, a child, a signal or the clock ends them.
update tenax.item i
   set state = 'accepted', attempt = x.attempt, awaiting = x.awaiting, expires_at = x.until,
       started_at = coalesce(i.started_at, $5::timestamptz),
       lease_grant = null, lease_token = null
  from unnest($1::bigint[], $2::integer[], $3::text[], $4::timestamptz[]) as x (id, attempt, awaiting, until)
 where i.id between x.id and x.id  -- no plan can reverse the order of this join
