select {item_row}
  from tenax.item i
 where i.id = any($1::bigint[])
 order by i.id
   for update of i
