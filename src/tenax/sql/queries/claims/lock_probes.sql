-- Unhealthy workers whose time for one item, to see, has come; each for one server at a time.
select name from tenax.worker where name = any($1::text[]) and probe_at <= tenax.now() for update skip locked
