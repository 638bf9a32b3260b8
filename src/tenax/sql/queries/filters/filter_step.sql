(e.failure ->> 'step' = any(:exact::text[]) or e.failure ->> 'step' like any(:patterns::text[])
 or exists (select
               from tenax.item i
              where i.execution_id = e.id and (i.step = any(:exact::text[]) or i.step like any(:patterns::text[]))))
