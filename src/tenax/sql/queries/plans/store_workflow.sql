-- Makes this definition the meaning of its name. Returns true if it was not stored before.
with before as (select stored_at from tenax.workflow where hash = $1::text for update)
update tenax.workflow w set stored_at = tenax.now() from before where w.hash = $1 returning before.stored_at is null
