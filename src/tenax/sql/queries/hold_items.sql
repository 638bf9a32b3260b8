-- How long these items are held at most.
update tenax.item i
   set timeout_at = x.until
  from unnest($1::bigint[], $2::timestamptz[]) as x (id, until)
 where i.id = x.id and i.state = 'held'
