-- Revokes tokens by id or by name. A token that was revoked before keeps its time. `live`: it was not revoked before.
with found as (
    select id, revoked_at is null as live from tenax.token where id = $1::bigint or name = $2::text for update
)
update tenax.token t
   set revoked_at = coalesce(t.revoked_at, tenax.now())
  from found f
 where t.id = f.id
returning t.id, t.name, t.role, t.created_at, t.revoked_at, f.live
