-- Gathers the result of an execution whose goals are fan-outs, in the database where their results are.
update tenax.execution e
   set result = (select jsonb_object_agg(s.step, coalesce(s.result, 'null'::jsonb))
                   from tenax.step s
                  where s.execution_id = e.id and s.step = any($2::text[]))
 where e.id = $1::bigint
