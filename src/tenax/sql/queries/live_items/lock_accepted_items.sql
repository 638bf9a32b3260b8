-- Locks accepted items of an execution that wait for $2, only those of one step and item number if these are given. The
-- longest wait comes first.
select {item_row}
  from tenax.item i
 where i.execution_id = $1::bigint and i.state = 'accepted' and i.awaiting = $2::text
   and ($3::text is null or i.step = $3) and ($4::integer is null or i.item_no = $4)
 order by i.started_at, i.id
   for update of i
