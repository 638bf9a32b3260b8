-- Workers' tokens do not count: with nothing but those, no person could come in.
select exists (select from tenax.token where revoked_at is null and role <> 'worker')
