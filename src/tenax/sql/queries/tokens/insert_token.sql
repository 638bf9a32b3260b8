-- No row where a live token has this name already: names are how people tell tokens apart, and revoke them.
insert into tenax.token (name, role, hash)
select $1::text, $2::text, $3::bytea
 where not exists (select from tenax.token where name = $1::text and revoked_at is null)
returning id
