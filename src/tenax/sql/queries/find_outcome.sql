-- The events that were written together with the one that has this token.
select l.events
  from tenax.log l
 where l.execution_id = $1::bigint and l.events @> jsonb_build_array(jsonb_build_object('token', $2::text))
 order by l.id
 limit 1
