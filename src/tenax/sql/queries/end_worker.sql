update tenax.worker set state = 'gone', last_heartbeat = tenax.now() where name = $1::text
