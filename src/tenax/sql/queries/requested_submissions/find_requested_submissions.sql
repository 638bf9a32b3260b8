-- Finds the next submissions that applications have requested, without those in $1, and their bytes. The lock of a
-- server that starts one is no reason to leave it out: that server may fail.
select execution_id, size from tenax.requested_submission where execution_id <> all($1::bigint[]) order by execution_id limit $2::integer
