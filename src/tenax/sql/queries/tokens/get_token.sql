select id, name, role, created_at, revoked_at from tenax.token where id = $1::bigint
