select r.execution_id, r.step, r.item_no, r.compensates, r.attempt, r.class, r.reason, r.delay, extract(epoch from r.due) as due, r.worker
  from unnest($1::text::bigint[], $2::text[], $3::text::integer[], $4::text::boolean[]) as k (execution_id, step, item_no, compensates)
  join tenax.retry_underway r using (execution_id, step, item_no, compensates)
