-- Locks the items of an execution, or of one step of it, or those with some numbers.
select {item_row}, i.available_at
  from tenax.item i
 where i.execution_id = $1::bigint and ($2::text is null or i.step = $2) and ($3::integer[] is null or i.item_no = any($3))
 order by i.id
   for update of i
