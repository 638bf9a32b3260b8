-- Returns the next executions after $1, in the order of their ids: all, those that were open at some time since $2, or
-- the one with the id $3. With each come the bytes of its events, and those of the largest row of them. The length of a
-- stored text is known without reading it.
select e.id, coalesce(l.size, 0)::bigint as size, coalesce(l.largest, 0) as largest
  from (select x.id
          from tenax.execution x
         where x.id > $1::bigint
           and ($2::timestamptz is null or x.finished_at is null or x.finished_at >= $2)
           and ($3::bigint is null or x.id = $3)
         order by x.id
         limit $4::integer) as e
 cross join lateral (
    select sum(octet_length(l.events)) as size, max(octet_length(l.events)) as largest
      from tenax.log l
     where l.execution_id = e.id
 ) as l
 order by e.id
