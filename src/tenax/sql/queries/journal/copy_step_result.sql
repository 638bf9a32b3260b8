-- Copies the result of a fallback ($2) to the step that it replaces ($3).
update tenax.step s
   set result = (select f.result from tenax.step f where f.execution_id = $1::bigint and f.step = $2::text)
 where s.execution_id = $1 and s.step = $3::text
