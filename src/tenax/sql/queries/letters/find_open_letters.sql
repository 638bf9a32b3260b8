-- Finds open dead letters that fit the filter ($2 to $9: as in `list_letters`; $1 is `open`) with their executions: the
-- oldest of them, at most $10.
select l.item_id, l.execution_id
  from tenax.dead_letter l
 where l.status = any($1::text[]) and {letter_filter}
 order by l.last_at, l.item_id
 limit $10::integer
