-- How items of fan-outs ended. Their elements are kept where $8 says so.
insert into tenax.item_result (execution_id, step, item_no, state, attempts, result, failure, element)
select x.execution_id, x.step, i.item_no, x.state, x.attempts, x.result, x.failure, case when x.keep then i.element end
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::integer[], $6::jsonb[], $7::jsonb[], $8::boolean[])
    as x (item_id, execution_id, step, state, attempts, result, failure, keep)
  join tenax.item i on i.id = x.item_id
