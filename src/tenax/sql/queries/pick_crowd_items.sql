-- The short way of a crowd ($8) that has its queue to itself: its ready items, but for those that are under a limit, refused or suspect.
select p.id, row_number() over () as n
  from (
    select i.id
      from tenax.item i
     where i.queue = $6::text and i.priority = $7::smallint and i.lane = $8::bigint and i.leasable and not i.common
       and i.available_at <= tenax.now()
       and i.runtime = any($9::text[])
       and (i.labels is null or i.labels <@ $10::jsonb)
       and i.refused_by is null and not i.suspect and i.action_gate is null and i.key_gate is null
     order by i.available_at
     limit cardinality($1::text[])
       for update skip locked
  ) as p
