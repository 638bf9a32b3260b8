-- Lists the events of a worker, the latest first, among the last $3 rows of the log that belong to no execution.
select l.at, e.event ->> 'type' as type, e.event -> 'data' as data
  from (select id, at, events from tenax.log where execution_id is null order by id desc limit $3::integer) as l
 cross join lateral jsonb_array_elements(l.events::jsonb) as e (event)
 where e.event -> 'data' ->> 'worker' = $1::text
 order by l.id desc
 limit $2::integer
