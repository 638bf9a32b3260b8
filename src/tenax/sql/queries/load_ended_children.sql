-- How these children ended, and the step and item of their parents that started them.
select id, state, result, failure, parent_step, parent_item_no from tenax.execution where id = any($1::bigint[]) and finished_at is not null
