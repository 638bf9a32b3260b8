-- Counts the attempts that ended from $1 to $2 by minute. $3 and $4 are executions of that time. The rows of the log are
-- found by the ids of the executions around that time, since the log has no index of times. Returns one row without a
-- minute if that may be more than $5 rows of the log.
with span as materialized (
    select coalesce((select min(l.id) from tenax.log l
                      where l.execution_id = (select e.id from tenax.execution e
                                               where e.id < $3::bigint and e.created_at < $1::timestamptz
                                               order by e.id desc limit 1)),
                    0) as first,
           coalesce((select min(l.id) from tenax.log l
                      where l.execution_id = (select e.id from tenax.execution e
                                               where e.id > $4::bigint and e.created_at >= $2::timestamptz
                                               order by e.id limit 1)),
                    (select q.last_value from tenax.event_id q)) as last
)
select null::timestamptz as minute, 0 as count
  from span s
 where (s.last - s.first) / 32 >= $5::bigint
union all
select date_trunc('minute', l.at), count(*)::integer
  from span s
  join tenax.log l on l.id between s.first and s.last
 cross join lateral json_array_elements(l.events::json) as e (event)
 where (s.last - s.first) / 32 < $5 and l.at >= $1 and l.at < $2 and e.event ->> 'type' = any($6::text[])
 group by date_trunc('minute', l.at)
