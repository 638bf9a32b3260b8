-- As get_events, but nothing from transactions that an older one, still under way, could yet get in front of:
-- a reader that resumes by sequence number skips nothing.
with window_ as (
    select pg_snapshot_xmin(s) as low, pg_snapshot_xmax(s) as high from pg_current_snapshot() as s
)
select e.id, e.seq, e.type, e.at, e.step, e.item, e.attempt, e.data
  from tenax.event e
 where e.execution_id = $1::bigint and e.seq > $2::bigint
   and e.id < coalesce((select min(l.id) from tenax.log l, window_ w
                         where l.execution_id = $1::bigint and l.xid >= w.low and l.xid < w.high), 9223372036854775807)
 order by e.seq
