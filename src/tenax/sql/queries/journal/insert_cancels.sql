-- Asks for the cancellation of these executions, for this reason.
insert into tenax.inbox (execution_id, kind, body, created_at)
select x.id, 'cancel', jsonb_build_object('reason', $2::text), $3::timestamptz from unnest($1::bigint[]) as x (id)
