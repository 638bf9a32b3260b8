-- Returns whether there is a live token. Workers' tokens do not count: with only those no person could log in.
select exists (select from tenax.token where revoked_at is null and role <> 'worker')
