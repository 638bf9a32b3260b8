-- Removes the checkpoints of steps that start from their beginning: of these items of each step, or of all of them.
delete from tenax.checkpoint c
 using unnest($2::text[], $3::integer[]) as x (step, item_no)
 where c.execution_id = $1::bigint and c.step = x.step and (x.item_no is null or c.item_no = x.item_no)
