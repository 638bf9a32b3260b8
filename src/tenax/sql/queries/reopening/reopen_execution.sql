-- Opens an execution again: the rows of these steps ($2) go, its failure becomes that of a goal that stays lost ($3),
-- and a deadline that has passed starts anew ($4).
with gone as (
    delete from tenax.step where execution_id = $1::bigint and step = any($2::text[])
)
update tenax.execution
   set state = case state when 'paused' then 'paused' else 'running' end, failure = $3::jsonb, finished_at = null,
       deadline_at = coalesce($4::timestamptz, deadline_at)
 where id = $1
