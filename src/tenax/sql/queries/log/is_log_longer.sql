-- Returns whether the log of an execution has more than its newest $2 rows and $3 bytes.
select count(*) > $2::bigint or coalesce(sum(octet_length(l.events)), 0) > $3::bigint
  from (
    select r.events
      from tenax.log r
     where r.execution_id = $1::bigint
     order by r.id desc
     limit $2::bigint + 1
  ) as l
