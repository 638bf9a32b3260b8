-- These unhealthy workers get one item, to see.
update tenax.worker set probe_at = null, probed_at = tenax.now() where name = any($1::text[])
