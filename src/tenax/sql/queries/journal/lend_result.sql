-- What a fallback ($2) gives is also the result of the step that it stands in for ($3).
update tenax.step s
   set result = (select f.result from tenax.step f where f.execution_id = $1::bigint and f.step = $2::text)
 where s.execution_id = $1 and s.step = $3::text
