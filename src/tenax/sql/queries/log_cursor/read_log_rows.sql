-- Returns the rows of the next $2 transactions from the number $1 on, and those of the transactions $3, as far as they
-- have committed. With them comes the next cursor: `counted`, and `open`, the smaller numbers that have not ended yet.
-- So no row is skipped and none comes twice, in whatever order transactions commit. Once $5 rows are found, the next
-- transactions are left for another time.
--
-- The rows come in chunks of 50, so that reading one is short, each as JSON: [[id, execution, time, events], ...]. Of
-- large rows only the parts that are counted are returned. Rows up to the id $4 are left out.
with snapshot as materialized (
    select pg_current_snapshot() as seen
), longest as materialized (
    select least(pg_snapshot_xmax(s.seen)::text::bigint, $1::bigint + $2::bigint) as last,
           pg_snapshot_xmax(s.seen)::text::bigint as newest,
           array(select x::text::bigint from pg_snapshot_xip(s.seen) as x) as running
      from snapshot s
), found as materialized (
    select l.xid::text::bigint as number, l.id, l.execution_id, l.at, l.events, pg_column_size(l.events) as size
      from tenax.log l
     where l.xid::text::bigint >= $1::bigint and l.xid::text::bigint < (select last from longest)
    union all
    select o.xid, l.id, l.execution_id, l.at, l.events, pg_column_size(l.events) as size
      from unnest($3::bigint[]) as o (xid)
      join tenax.log l on l.xid::text::bigint = o.xid
), sizes as (
    select f.number, sum(count(*)) over (order by f.number) - count(*) as rows_before from found f group by f.number
), next as materialized (
    select l.*, coalesce((select min(z.number) from sizes z where z.rows_before >= $5::bigint and z.number >= $1::bigint), l.last) as counted
      from longest l
), numbered as (
    select r.*, (row_number() over () - 1) / 50 as chunk
      from found r
     -- Not as plain conditions, which other indexes could serve: those would return the whole log.
     where r.number < (select counted from next) and coalesce(r.execution_id, 0) > 0 and r.id + 0 > $4::bigint
), chunks as (
    select string_agg(concat('[', r.id, ',', r.execution_id, ',', extract(epoch from r.at), ',',
                             case when r.size <= 2000 then r.events else (
                                 select json_agg(json_build_object(
                                            'type', e -> 'type', 'step', e -> 'step', 'item', e -> 'item', 'attempt', e -> 'attempt',
                                            'data', jsonb_build_object(
                                                'workflow', e #> '{data,workflow}', 'worker', e #> '{data,worker}',
                                                'retry', e #> '{data,retry}', 'seconds', e #> '{data,seconds}',
                                                'delay_seconds', e #> '{data,delay_seconds}',
                                                'available_at', e #> '{data,available_at}', 'held', e #> '{data,held}',
                                                'how', e #> '{data,how}', 'via', e #> '{data,via}', 'compensation', e #> '{data,compensation}',
                                                'was', e #> '{data,was}',
                                                'failure', jsonb_build_object('class', e #> '{data,failure,class}',
                                                                              'reason', e #> '{data,failure,reason}')))
                                            order by n)
                                   from jsonb_array_elements(r.events::jsonb) with ordinality as x (e, n))::text end,
                             ']'), ',') as rows
      from numbered r
     group by r.chunk
)
select n.counted, array(select x from unnest(n.running) as x where x < n.counted) as open, n.newest, tenax.now() as now,
       array(select '[' || c.rows || ']' from chunks c) as chunks
  from next n
