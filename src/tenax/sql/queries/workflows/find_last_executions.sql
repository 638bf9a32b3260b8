-- Returns the newest execution of each of some workflows ($1) among the newest $2 of all.
select distinct on (w.name) w.name, e.id, e.state, e.created_at, e.finished_at
  from (select id, plan_id, state, created_at, finished_at from tenax.execution order by id desc limit $2::integer) as e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where w.name = any($1::text[])
 order by w.name, e.id desc
