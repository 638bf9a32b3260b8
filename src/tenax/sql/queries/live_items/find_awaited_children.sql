-- Finds the children that steps of this execution wait for.
select c.id
  from tenax.item i
  join tenax.execution c on {is_child_of_item}
 where i.execution_id = $1::bigint and i.awaiting = 'child'
