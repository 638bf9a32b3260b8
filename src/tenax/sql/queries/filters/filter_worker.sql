e.id in (select i.execution_id
           from tenax.item i
          where i.state = 'leased' and (i.worker = any(:exact::text[]) or i.worker like any(:patterns::text[])))
