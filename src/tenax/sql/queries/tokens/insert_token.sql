-- Inserts a token. Returns no row if a live token has this name already, because people identify and revoke tokens by
-- name.
insert into tenax.token (name, role, hash)
select $1::text, $2::text, $3::bytea
 where not exists (select from tenax.token where name = $1::text and revoked_at is null)
returning id
