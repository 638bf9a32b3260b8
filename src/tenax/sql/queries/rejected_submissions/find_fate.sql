-- Tells what became of the submission by `tenax.submit` that was given this id. No row: there was none. An execution that
-- was not there a moment ago has been started meanwhile.
select null as reason, null as message from tenax.requested_submission where execution_id = $1::bigint
union all
select null, null from tenax.execution where id = $1
union all
select reason, message from tenax.rejected_submission where execution_id = $1
