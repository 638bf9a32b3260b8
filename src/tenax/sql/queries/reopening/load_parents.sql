-- Returns what started each of these executions, and whether they are deactivated.
select id, parent_id, parent_step, parent_item_no, parent_attempt, deactivated_at is not null as deactivated
  from tenax.execution
 where id = any($1::bigint[])
