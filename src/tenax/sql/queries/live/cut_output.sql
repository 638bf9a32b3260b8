-- Removes the middle of the output of attempts, so that $7 bytes at each end stay. $6: the bytes that the attempt has printed.
delete from tenax.output o
 using unnest($1::bigint[], $2::text[], $3::integer[], $4::boolean[], $5::integer[], $6::bigint[])
       as x (execution_id, step, item_no, compensates, attempt, printed)
 where o.execution_id = x.execution_id and o.step = x.step and o.item_no = x.item_no and o.compensates = x.compensates
   and o.attempt = x.attempt and o.start >= $7::bigint and o.start + o.size <= x.printed - $7::bigint
