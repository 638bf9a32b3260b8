-- A live item has the classes of all its failures in its ledger.
(e.failure ->> 'class' = any(:exact::text[]) or e.failure ->> 'class' like any(:patterns::text[])
 or e.id in (select i.execution_id
               from tenax.item i
              cross join lateral jsonb_object_keys(i.ledger -> 'by_class') as c (name)
              where c.name = any(:exact::text[]) or c.name like any(:patterns::text[])))
