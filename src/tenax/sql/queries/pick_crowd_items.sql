-- The short way of a crowd ($9) that has its queue to itself: its ready items. Nothing, where one of those in front is under a limit,
-- refused by someone or suspect: then the full way is needed.
select p.place, p.n, p.request, p.token
  from unnest(array(
    select c.place
      from (
        select f.place, bool_or(f.odd) over () as any_odd
          from (
            select i.ctid as place,
                   i.refused_by is not null or i.suspect or i.action_gate is not null or i.key_gate is not null as odd
              from tenax.item i
             where i.queue = $7::text and i.priority = $8::smallint and i.lane = $9::bigint and i.leasable and not i.common
               and i.available_at <= tenax.now()
               and i.runtime = any($10::text[])
               and (i.labels is null or i.labels <@ $11::jsonb)
             order by i.available_at
             limit cardinality($5::text::integer[])
               for update skip locked
          ) as f
      ) as c
     where not c.any_odd
  ), $5::text::integer[], string_to_array($6::text, E'\n')::uuid[]) with ordinality as p (place, request, token, n)
 where p.place is not null
