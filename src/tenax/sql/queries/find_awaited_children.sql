-- The children that steps of this execution wait for.
select c.id
  from tenax.item i
  join tenax.execution c on c.parent_id = i.execution_id and c.parent_step = i.step
                        and coalesce(c.parent_item_no, -1) = coalesce(i.item_no, -1) and c.parent_attempt = i.attempt
 where i.execution_id = $1::bigint and i.awaiting = 'child'
