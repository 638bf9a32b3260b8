-- Returns the last of the next $2 executions below $1 that a filter selects, and when it was made.
select e.id, e.created_at
  from tenax.execution e
 where ($1::bigint is null or e.id < $1) and :conditions
 order by e.id desc
offset $2::bigint - 1
 limit 1
