-- Puts items that a budget can pay into their own queue. Their ledger says that they belong to a tree.
update tenax.item i
   set queue = x.queue, ledger = coalesce(i.ledger, '{"counted": 0, "exempted": 0}'::jsonb) || '{"tree": true}'::jsonb
  from unnest($1::bigint[], $2::text[]) as x (id, queue)
 where i.id = x.id
