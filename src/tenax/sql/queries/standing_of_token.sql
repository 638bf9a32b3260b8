select case when revoked_at is null then 'live' else 'revoked' end from tenax.token where hash = $1::bytea
