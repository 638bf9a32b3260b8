-- What these items cost their workers is not their workers' fault. The row stays, without a time: what else was lost then is found
-- out a little later, and goes with it.
update tenax.worker_loss set at = '-infinity' where items && $1::bigint[]
