-- Marks an item as done, in the transaction of its action, and moves the time of the next action by the rate. It marks
-- nothing if the job has been stopped, or if the item is not pending any more.
with item as (
    update tenax.bulk_item b
       set state = 'done', acted_at = tenax.clock()
      from (select id from tenax.bulk_job where id = $1 and state = 'running' for update) as j
     where b.job_id = j.id and b.n = $2 and b.state = 'pending'
    returning b.job_id
)
update tenax.bulk_job j
   set due_at = case when j.rate is not null
                     then greatest(coalesce(j.due_at, tenax.clock()), tenax.clock() - interval '1 second')
                          + make_interval(secs => 1 / j.rate) end
  from item
 where j.id = item.job_id
returning j.id
