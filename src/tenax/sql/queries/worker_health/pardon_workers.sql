-- Removes the losses that these items caused from their workers' records. The row stays, without a time, because other
-- items that were lost then are found a little later and belong to it.
update tenax.worker_loss set at = '-infinity' where items && $1::bigint[]
