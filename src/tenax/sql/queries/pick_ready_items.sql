-- The short way: ready items that any able worker may have, level by level ($6 queue, $7 priority), as many as there are slots.
select p.id, row_number() over () as n
  from (
    select c.id
      from unnest($6::text[], $7::smallint[]) as l (queue, priority)
     cross join lateral (
        select i.id
          from tenax.item i
         where i.queue = l.queue and i.priority = l.priority and i.leasable and i.common
           and i.available_at <= tenax.now()
           and i.runtime = any($8::text[])
           and (i.labels is null or i.labels <@ $9::jsonb)
         order by i.available_at
         limit cardinality($1::text[])
           for update skip locked
     ) as c
     limit cardinality($1::text[])
  ) as p
