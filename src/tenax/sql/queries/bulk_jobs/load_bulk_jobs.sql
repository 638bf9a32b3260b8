-- Loads jobs with the counts of their items, the newest first: the one of id $1, or the last $2.
select j.*, c.pending, c.done, c.skipped, c.failed
  from (select * from tenax.bulk_job where $1::bigint is null or id = $1 order by id desc limit $2::integer) as j
 cross join lateral (
    select count(*) filter (where b.state = 'pending')::integer as pending,
           count(*) filter (where b.state = 'done')::integer as done,
           count(*) filter (where b.state = 'skipped')::integer as skipped,
           count(*) filter (where b.state = 'failed')::integer as failed
      from tenax.bulk_item b
     where b.job_id = j.id
 ) as c
 order by j.id desc
