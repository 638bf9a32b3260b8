-- A live item has the classes of all its failures in its ledger.
(e.failure ->> 'class' = any(:exact::text[]) or e.failure ->> 'class' like any(:patterns::text[])
 or exists (select
               from tenax.item i
              cross join lateral jsonb_object_keys(i.ledger -> 'by_class') as c (name)
              where i.execution_id = e.id and (c.name = any(:exact::text[]) or c.name like any(:patterns::text[]))))
