-- A label is asked for as NAME or as NAME:VALUE.
e.id in (select i.execution_id
           from tenax.item i
          cross join lateral jsonb_each_text(i.labels) as l (name, value)
          where i.labels is not null
            and (l.name = any(:exact::text[]) or l.name || ':' || l.value = any(:exact::text[])
                 or l.name || ':' || l.value like any(:patterns::text[])))
