-- Marks items as done, in the transaction of their action, and moves the time of the next action by the rate. It marks
-- nothing if the job has been stopped, and only those items that are still pending. Returns how many it has marked.
with item as (
    update tenax.bulk_item b
       set state = 'done', acted_at = tenax.clock()
      from (select id from tenax.bulk_job where id = $1 and state = 'running' for update) as j
     where b.job_id = j.id and b.n = any($2::integer[]) and b.state = 'pending'
    returning b.job_id
), marked as (
    select i.job_id, count(*)::integer as items from item i group by i.job_id
)
update tenax.bulk_job j
   set due_at = case when j.rate is not null
                     then greatest(coalesce(j.due_at, tenax.clock()), tenax.clock() - interval '1 second')
                          + make_interval(secs => m.items / j.rate) end
  from marked m
 where j.id = m.job_id
returning m.items
