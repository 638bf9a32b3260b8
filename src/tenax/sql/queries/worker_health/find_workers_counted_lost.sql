-- Finds the workers with a loss that was counted when a later life registered.
select distinct worker from tenax.worker_loss where isfinite(at) and worker = any($1::text[])
