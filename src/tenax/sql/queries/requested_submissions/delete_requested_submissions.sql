delete from tenax.requested_submission where execution_id = any($1::bigint[])
