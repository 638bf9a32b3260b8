-- Returns those of the executions $1 that a filter selects.
select e.id
  from tenax.execution e
 where e.id = any($1::bigint[]) and :conditions
