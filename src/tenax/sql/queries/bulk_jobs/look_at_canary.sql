-- Counts the first $2 executions that a job has acted on: all, those that have ended or failed again since, and those
-- that have failed.
select count(*)::integer as acted, count(*) filter (where x.failed or x.ended)::integer as settled,
       count(*) filter (where x.failed)::integer as failed
  from (select b.execution_id as id, b.acted_at
          from tenax.bulk_item b
         where b.job_id = $1 and b.state = 'done'
         order by b.n
         limit $2) as c
 cross join lateral (
    select coalesce(e.finished_at is not null, true) as ended,
           coalesce(e.state = 'failed', false)
           or exists (select from tenax.log l
                       where l.execution_id = c.id and l.at > c.acted_at and l.events like any($3::text[])) as failed
      from (select) as one
      left join tenax.execution e on e.id = c.id
 ) as x
