-- Stores the dead letters with one of the statuses $3 that a filter selects now as the items of job $1, the oldest
-- failure first. Returns their number. It stores one more than the limit $2 if there are more.
with chosen as (
    select l.item_id, l.execution_id, row_number() over (order by l.last_at, l.item_id) as n
      from tenax.dead_letter l
     where l.status = any($3::text[]) and :conditions
     order by l.last_at, l.item_id
     limit $2::integer + 1
), stored as (
    insert into tenax.bulk_item (job_id, n, execution_id, letter_id)
    select $1::bigint, c.n, c.execution_id, c.item_id
      from chosen c
), counted as (
    select count(*)::integer as total from chosen
)
update tenax.bulk_job j
   set total = c.total
  from counted c
 where j.id = $1
returning j.total
