-- Finds the next $2 executions above $1, up to $3, that a filter selects.
select e.id
  from tenax.execution e
 where e.id > $1::bigint and ($3::bigint is null or e.id <= $3) and :conditions
 order by e.id
 limit $2::integer
