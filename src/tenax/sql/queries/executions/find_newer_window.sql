-- Returns the last of the next $2 executions above $1 that a filter selects, and when it was made.
select e.id, e.created_at
  from tenax.execution e
 where e.id > $1::bigint and :conditions
 order by e.id
offset $2::bigint - 1
 limit 1
