select queue from tenax.queue_limit
