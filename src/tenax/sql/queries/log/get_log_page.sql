-- Returns the next rows of an execution's log after the row $2, of at most $4 bytes together, but at least one row. It
-- returns only what the snapshot $3 sees, so that pages read one after the other belong together. No time is earlier
-- than $6, the last of the page before, nor than that of the row before it.
select l.id, l.at, l.events
  from (
    select r.id, greatest(max(r.at) over (order by r.id), $6::timestamptz) as at, r.events,
           sum(octet_length(r.events)) over (order by r.id) - octet_length(r.events) as before
      from tenax.log r
     where r.execution_id = $1::bigint and r.id > $2::bigint and pg_visible_in_snapshot(r.xid, $3::text::pg_snapshot)
     order by r.id
     limit $5::bigint
  ) as l
 where l.before < $4::bigint
 order by l.id
