-- The short way of a crowd ($8) that has its queue to itself: its ready items. Nothing, where one of those in front is under a limit,
-- refused by someone or suspect: then the full way is needed.
select p.id, row_number() over () as n
  from (
    select c.id, bool_or(c.odd) over () as any_odd
      from (
        select i.id,
               i.refused_by is not null or i.suspect or i.action_gate is not null or i.key_gate is not null as odd
          from tenax.item i
         where i.queue = $6::text and i.priority = $7::smallint and i.lane = $8::bigint and i.leasable and not i.common
           and i.available_at <= tenax.now()
           and i.runtime = any($9::text[])
           and (i.labels is null or i.labels <@ $10::jsonb)
         order by i.available_at
         limit cardinality($1::text[])
           for update skip locked
      ) as c
  ) as p
 where not p.any_odd
