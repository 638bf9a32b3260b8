-- How these children ended.
select id, state, result, failure from tenax.execution where id = any($1::bigint[]) and finished_at is not null
