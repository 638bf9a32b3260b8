-- Finds dead letters with one of the statuses $1 that fit a filter, with their executions: the oldest of them, at most $2.
select l.item_id, l.execution_id
  from tenax.dead_letter l
 where l.status = any($1::text[]) and :conditions
 order by l.last_at, l.item_id
 limit $2::integer
