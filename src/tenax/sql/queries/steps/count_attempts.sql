-- Returns the number of the last ended attempt of a step, or of an item of its fan-out; null if no row has it.
select coalesce(
    (select nullif(r.attempts, 0) from tenax.item_result r
      where r.execution_id = $1::bigint and r.step = $2::text and r.item_no = $3::integer),
    (select nullif(s.attempts, 0) from tenax.step s
      where s.execution_id = $1::bigint and s.step = $2::text and $3::integer is null and s.state <> 'pending'))
