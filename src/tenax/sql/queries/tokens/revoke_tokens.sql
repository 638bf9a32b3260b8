-- Revokes tokens by id or by name. A token that was revoked before keeps its time.
update tenax.token
   set revoked_at = coalesce(revoked_at, tenax.now())
 where id = $1::bigint or name = $2::text
returning id, name, role, created_at, revoked_at
