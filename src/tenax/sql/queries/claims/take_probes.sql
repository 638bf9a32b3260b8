-- Records that these unhealthy workers got their probe.
update tenax.worker set probe_at = null, probed_at = tenax.now() where name = any($1::text[])
