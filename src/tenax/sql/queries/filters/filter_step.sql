(e.failure ->> 'step' = any(:exact::text[]) or e.failure ->> 'step' like any(:patterns::text[])
 or e.id in (select i.execution_id
               from tenax.item i
              where i.step = any(:exact::text[]) or i.step like any(:patterns::text[])))
