delete from tenax.queue_limit where queue = $1::text
