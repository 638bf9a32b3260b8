-- The events that were not there yet in the snapshot $2, and the snapshot to ask with the next time: nothing is skipped and
-- nothing comes twice, in whatever order transactions commit. Without a snapshot: all of them.
select c.cursor, e.id, e.seq, e.type, e.at, e.step, e.item, e.attempt, e.data
  from (select pg_current_snapshot()::text as cursor) as c
  left join tenax.event e
    on e.execution_id = $1::bigint and ($2::text is null or not pg_visible_in_snapshot(e.xid, $2::pg_snapshot))
 order by e.id
