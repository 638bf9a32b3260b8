-- Lets the item of a parent that waits for this child again be its parent, in this attempt.
update tenax.execution c
   set parent_attempt = $2::integer,
       parent_item = (select i.id from tenax.item i
                       where i.execution_id = c.parent_id and i.step = c.parent_step and not i.compensates
                         and i.item_no is not distinct from c.parent_item_no)
 where c.id = $1::bigint
