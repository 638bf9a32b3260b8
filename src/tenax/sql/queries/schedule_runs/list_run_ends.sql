-- Returns the kinds of the ends of a schedule's newest runs, the newest first, at most $3: of those after $2. Runs that
-- have not ended, and cancelled ones, say nothing.
select case when r.kind = 'failed' then 'failed' else e.state end as state
  from tenax.schedule_run r
  left join tenax.execution e on e.id = r.execution_id
 where r.schedule = $1::text and r.id > $2::bigint and (r.kind = 'failed' or e.state in ('completed', 'failed'))
 order by r.id desc
 limit $3::integer
