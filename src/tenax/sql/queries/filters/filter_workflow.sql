e.plan_id in (select p.id
                from tenax.plan p
                join tenax.workflow w on w.id = p.workflow_id
               where w.name = any(:exact::text[]) or w.name like any(:patterns::text[]))
