-- Keeps requests that cannot be started, with the reason and the message. The caller deletes the requests.
insert into tenax.rejected_submission
       (execution_id, workflow, submit_key, input, requested_at, requested_by, rejected_at, reason, message)
select r.execution_id, r.workflow, r.submit_key, r.input, r.requested_at, r.requested_by, tenax.now(), u.reason, u.message
  from unnest($1::bigint[], $2::text[], $3::text[]) as u (execution_id, reason, message)
  join tenax.requested_submission r on r.execution_id = u.execution_id
