-- Copies the ends of items whose fan-outs an execution keeps from the one that it retries.
insert into tenax.item_result (execution_id, step, item_no, state, attempts, result, failure, element)
select $1::bigint, r.step, r.item_no, r.state, r.attempts, r.result, r.failure, r.element
  from tenax.item_result r
 where r.execution_id = $2::bigint and r.step = any($3::text[])
