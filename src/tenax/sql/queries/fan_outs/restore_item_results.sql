-- Inserts the missing ends of items of a fan-out, as the log records them.
insert into tenax.item_result (execution_id, step, item_no, state, attempts, result, failure, element)
select $1::bigint, $2::text, x.item_no, x.state, x.attempts, x.result, x.failure, x.element
  from unnest($3::integer[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::jsonb[])
    as x (item_no, state, attempts, result, failure, element)
    on conflict (execution_id, step, item_no) do nothing
