-- Inserts the ends of items of fan-outs. Elements are kept if `keep` says so, and their items must still exist then.
insert into tenax.item_result (execution_id, step, item_no, state, attempts, result, failure, element)
select x.execution_id, x.step, x.item_no, x.state, x.attempts, x.result, x.failure,
       case when x.keep then (select i.element from tenax.item i where i.id = x.item_id) end
  from unnest($1::text::bigint[], $2::text::bigint[], $3::text::integer[], $4::text::integer[], $5::jsonb[], $6::jsonb[],
              $7::text::boolean[], string_to_array($8::text, E'\n'), string_to_array($9::text, E'\n'))
    as x (item_id, execution_id, item_no, attempts, result, failure, keep, step, state)
