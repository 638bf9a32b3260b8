-- Stores the executions that a filter selects now as the items of job $1, the oldest first. Returns their number. It
-- stores one more than the limit $2 if there are more.
with chosen as (
    select e.id
      from tenax.execution e
     where :conditions
     order by :order
     limit $2::integer + 1
), stored as (
    insert into tenax.bulk_item (job_id, n, execution_id)
    select $1::bigint, row_number() over (order by c.id), c.id
      from chosen c
), counted as (
    select count(*)::integer as total from chosen
)
update tenax.bulk_job j
   set total = c.total
  from counted c
 where j.id = $1
returning j.total
