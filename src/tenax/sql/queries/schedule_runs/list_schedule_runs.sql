-- Lists the newest runs of a schedule, the newest first, each with the state of its execution.
select r.id, r.at, r.kind, r.tick, r.until, r.reason, r.note, r.execution_id, e.state
  from tenax.schedule_run r
  left join tenax.execution e on e.id = r.execution_id
 where r.schedule = $1::text
 order by r.id desc
 limit $2::integer
