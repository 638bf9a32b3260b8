-- Returns up to $4 rows of an execution's log, and up to $5 bytes: those below the row $2, the newest first, or those
-- above the row $3. The first one is returned whatever its size.
select r.id, r.at, r.events
  from (
    select l.id, l.at, l.events,
           sum(octet_length(l.events)) over (order by case when $3::bigint is null then -l.id else l.id end)
               - octet_length(l.events) as before
      from ((select o.id, o.at, o.events from tenax.log o
              where $3::bigint is null and o.execution_id = $1::bigint and ($2::bigint is null or o.id < $2)
              order by o.id desc limit $4::integer)
            union all
            (select n.id, n.at, n.events from tenax.log n
              where $3::bigint is not null and n.execution_id = $1::bigint and n.id > $3
              order by n.id limit $4::integer)) as l
  ) as r
 where r.before < $5::bigint
 order by r.id
