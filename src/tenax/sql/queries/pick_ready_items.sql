-- The short way: ready items that any able worker may have, of each queue, priority and state in turn ($6 to $8) up to its share
-- ($9), as many as there are slots.
select p.id, row_number() over () as n
  from (
    select c.id
      from unnest($6::text[], $7::smallint[], $8::text[], $9::integer[]) as l (queue, priority, state, most)
     cross join lateral (
        select i.id
          from tenax.item i
         where i.queue = l.queue and i.priority = l.priority and i.state = l.state and i.leasable and i.common
           and i.available_at <= tenax.now()
           and i.runtime = any($10::text[])
           and (i.labels is null or i.labels <@ $11::jsonb)
         order by i.available_at
         limit l.most
           for update skip locked
     ) as c
     limit cardinality($1::text[])
  ) as p
