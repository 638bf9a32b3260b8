-- Lists schedules by name, or the one named $1, each with the state of its last execution, and with how many of its newest
-- runs in a row have failed: at most `pause_after_failures` or $2.
select s.*, e.state as last_state, e.created_at as last_started_at, f.failures, tenax.now() as now
  from tenax.schedule s
  left join tenax.execution e on e.id = s.last_execution
 cross join lateral (
    select count(*) filter (where n.completed = 0)::integer as failures
      from (select count(*) filter (where t.state = 'completed') over (order by t.id desc) as completed
              from (select r.id, case when r.kind = 'failed' then 'failed' else x.state end as state
                      from tenax.schedule_run r
                      left join tenax.execution x on x.id = r.execution_id
                     where r.schedule = s.name and r.id > s.counted_from and (r.kind = 'failed' or x.state in ('completed', 'failed'))
                     order by r.id desc
                     limit coalesce((s.spec ->> 'pause_after_failures')::integer, $2::integer)) as t) as n
 ) as f
 where $1::text is null or s.name = $1::text
 order by s.name
