-- The short way: ready items that any able worker may have, of each queue, priority and state in turn ($7 to $9) up to its share
-- ($10), as many as there are slots.
select p.place, p.n, p.request, p.token
  from unnest(array(
    select c.place
      from unnest($7::text[], $8::smallint[], $9::text[], $10::integer[]) as l (queue, priority, state, most)
     cross join lateral (
        select i.ctid as place
          from tenax.item i
         where i.queue = l.queue and i.priority = l.priority and i.state = l.state and i.leasable and i.common
           and i.available_at <= tenax.now()
           and i.runtime = any($11::text[])
           and (i.labels is null or i.labels <@ $12::jsonb)
         order by i.available_at
         limit l.most
           for update skip locked
     ) as c
     limit cardinality($5::text::integer[])
  ), $5::text::integer[], string_to_array($6::text, E'\n')::uuid[]) with ordinality as p (place, request, token, n)
 where p.place is not null
