select {item_row}
  from tenax.item i
 where i.id = any($1::bigint[]) and i.refused_by is not null and i.state in ('queued', 'retrying')
 order by i.id
   for update of i
