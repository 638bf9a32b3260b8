-- Locks those of these items that are still ready, with the values that their inputs are rendered from.
select {item_row}, i.element, i.vary, i.timeout
  from tenax.item i
 where i.id = any($1::bigint[]) and i.standing in ('ready', 'restricted') and i.available_at <= tenax.now()
 order by i.id
   for update of i
