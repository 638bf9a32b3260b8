-- Returns the events of one attempt that end it or are late, and whether it was ever started, among the newest rows of
-- the execution's log: up to $7 rows and $8 bytes. $5 and $6 are parts of the text that every such row has.
select e.event ->> 'type' as type, e.event
  from (
    select r.id, r.events, sum(octet_length(r.events)) over (order by r.id desc) - octet_length(r.events) as newer
      from tenax.log r
     where r.execution_id = $1::bigint
     order by r.id desc
     limit $7::bigint
  ) as l
 cross join lateral (
    select x.event, x.n
      from jsonb_array_elements(l.events::jsonb) with ordinality as x (event, n)
     where x.event ->> 'step' = $2::text
       and (x.event ->> 'item')::integer is not distinct from $3::integer
       and (x.event ->> 'attempt')::integer = $4::integer
 ) as e
 where l.newer < $8::bigint and strpos(l.events, $5::text) > 0 and strpos(l.events, $6::text) > 0
 order by l.id, e.n
