-- Locks the unhealthy workers whose probe is due, each for one server at a time.
select name from tenax.worker where name = any($1::text[]) and probe_at <= tenax.now() for update skip locked
