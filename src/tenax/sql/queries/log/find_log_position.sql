-- Returns the last row of an execution's log whose events all have a sequence number of at most $2, the number and the
-- time of the last of these events, and the snapshot for which that is true.
select coalesce(p.id, 0) as id, coalesce(p.seq, 0) as seq, p.at, c.snapshot
  from (select pg_current_snapshot()::text as snapshot) as c
  left join lateral (
    select l.id, l.seq, l.at
      from (
        select r.id, sum(json_array_length(r.events::json)) over (order by r.id) as seq, max(r.at) over (order by r.id) as at
          from tenax.log r
         where r.execution_id = $1::bigint and $2::bigint > 0
      ) as l
     where l.seq <= $2::bigint
     order by l.id desc
     limit 1
  ) as p on true
