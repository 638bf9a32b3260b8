-- Keeps the last progress of running attempts. $1 item, $2 lease token, $3 fraction, $4 message. Only the holder of the lease is
-- believed. Returns the executions.
insert into tenax.attempt_progress as p (item_id, lease_token, execution_id, fraction, message, at)
select i.id, i.lease_token, i.execution_id, x.fraction, x.message, tenax.now()
  from unnest($1::bigint[], $2::uuid[], $3::double precision[], $4::text[]) as x (item_id, token, fraction, message)
  join tenax.item i on i.id = x.item_id and i.lease_token = x.token
 order by i.id
    on conflict (item_id) do update
   set lease_token = excluded.lease_token, fraction = excluded.fraction, message = excluded.message, at = excluded.at
