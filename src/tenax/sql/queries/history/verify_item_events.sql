-- Returns the events of single items of fan-outs, item by item. PostgreSQL sorts them, so that the server need not
-- hold them all.
select l.id + e.n - 1 as id, l.at, l.xid::text::bigint as xid, e.event ->> 'step' as step, (e.event ->> 'item')::integer as item,
       e.event::text as event
  from tenax.log l
 cross join lateral json_array_elements(l.events::json) with ordinality as e (event, n)
 where l.execution_id = $1::bigint and e.event ->> 'item' is not null
 order by e.event ->> 'step' collate "C", (e.event ->> 'item')::integer, l.id, e.n
