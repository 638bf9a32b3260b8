-- Returns the events that the snapshot $2 did not see, and the snapshot to ask with the next time: no event is skipped
-- and none comes twice, in whatever order transactions commit. Without a snapshot it returns all events. Only new rows
-- are opened; the events of earlier rows are counted. At most $5 bytes of rows are returned, but at least one row.
-- `more` tells that there is another row, and the next page has those after the row $4 that the snapshot $3 sees.
with rows as (
    select l.id, max(l.at) over (order by l.id) as at, l.events,
           ($2::text is null or not pg_visible_in_snapshot(l.xid, $2::pg_snapshot))
           and ($3::text is null or pg_visible_in_snapshot(l.xid, $3::pg_snapshot)) and l.id > $4::bigint as fresh,
           sum(json_array_length(l.events::json)) over (order by l.id) - json_array_length(l.events::json) as before
      from tenax.log l
     where l.execution_id = $1::bigint
), page as (
    select r.id, r.at, r.events, r.before, lead(r.id) over (order by r.id) is not null as more,
           sum(octet_length(r.events)) over (order by r.id) - octet_length(r.events) as earlier
      from rows r
     where r.fresh
)
select c.cursor, e.id, e.seq, e.type, e.at, e.step, e.item, e.attempt, e.data, e.row, e.more
  from (select coalesce($3::text, pg_current_snapshot()::text) as cursor) as c
  left join (
    select p.id + x.n - 1 as id, p.before + x.n as seq, x.event ->> 'type' as type, p.at, x.event ->> 'step' as step,
           (x.event ->> 'item')::integer as item, (x.event ->> 'attempt')::integer as attempt,
           coalesce(x.event -> 'data', '{}'::jsonb) as data, p.id as row, p.more
      from page p
     cross join lateral jsonb_array_elements(p.events::jsonb) with ordinality as x (event, n)
     where p.earlier < $5::bigint
  ) as e on true
 order by e.id
