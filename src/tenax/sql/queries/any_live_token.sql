select exists (select from tenax.token where revoked_at is null)
