e.id in (select i.execution_id
           from tenax.item i
          where i.queue = any(:exact::text[]) or i.queue like any(:patterns::text[]))
