select id, name, role, created_at, revoked_at, hash from tenax.token where hash = $1::bytea
