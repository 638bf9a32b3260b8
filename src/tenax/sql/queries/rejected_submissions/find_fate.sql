-- Tells what became of the submission by `tenax.submit` that was given this id. No row: there was none.
select null as reason, null as message from tenax.requested_submission where execution_id = $1::bigint
union all
select reason, message from tenax.rejected_submission where execution_id = $1
