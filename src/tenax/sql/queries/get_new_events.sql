-- The events that were not there yet in the snapshot $2, and the snapshot to ask with the next time: nothing is skipped and
-- nothing comes twice, in whatever order transactions commit. Without a snapshot: all of them. Only new rows are opened; of those
-- before them, their events are counted.
with rows as materialized (
    select l.id, max(l.at) over (order by l.id) as at, l.events,
           $2::text is null or not pg_visible_in_snapshot(l.xid, $2::pg_snapshot) as fresh,
           sum(json_array_length(l.events::json)) over (order by l.id) - json_array_length(l.events::json) as before
      from tenax.log l
     where l.execution_id = $1::bigint
)
select c.cursor, e.id, e.seq, e.type, e.at, e.step, e.item, e.attempt, e.data
  from (select pg_current_snapshot()::text as cursor) as c
  left join (
    select r.id + x.n - 1 as id, r.before + x.n as seq, x.event ->> 'type' as type, r.at, x.event ->> 'step' as step,
           (x.event ->> 'item')::integer as item, (x.event ->> 'attempt')::integer as attempt,
           coalesce(x.event -> 'data', '{}'::jsonb) as data
      from rows r
     cross join lateral jsonb_array_elements(r.events::jsonb) with ordinality as x (event, n)
     where r.fresh
  ) as e on true
 order by e.id
