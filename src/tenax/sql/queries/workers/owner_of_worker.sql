-- Returns the valid token that the name of a worker belongs to.
select t.name from tenax.worker w join tenax.token t on t.id = w.token_id and t.revoked_at is null where w.name = $1::text
