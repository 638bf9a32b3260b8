delete from tenax.retry_underway r
 using unnest($1::text::bigint[], $2::text[], $3::text::integer[], $4::text::boolean[]) as k (execution_id, step, item_no, compensates)
 where (r.execution_id, r.step, r.item_no, r.compensates) = (k.execution_id, k.step, k.item_no, k.compensates)
