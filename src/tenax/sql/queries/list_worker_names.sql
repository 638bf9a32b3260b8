select name from tenax.worker order by last_heartbeat desc limit 1000
