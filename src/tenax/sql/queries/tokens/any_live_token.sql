-- Returns whether there is a live token. Workers' tokens do not count, because a person could not use the server with
-- them.
select exists (select from tenax.token where revoked_at is null and role <> 'worker')
