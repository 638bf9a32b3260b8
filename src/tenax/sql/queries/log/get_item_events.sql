-- Returns the events of some items of a fan-out. Each row of the log that has such an event has one of the texts $4.
select l.id + e.n - 1 as id, 0::bigint as seq, e.event ->> 'type' as type, l.at, e.event ->> 'step' as step,
       (e.event ->> 'item')::integer as item, (e.event ->> 'attempt')::integer as attempt, coalesce(e.event -> 'data', '{}'::jsonb) as data
  from tenax.log l
 cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n)
 where l.execution_id = $1::bigint and exists (select from unnest($4::text[]) as t (part) where strpos(l.events, t.part) > 0)
   and e.event ->> 'step' = $2::text and (e.event ->> 'item')::integer = any ($3::integer[])
 order by l.id, e.n
