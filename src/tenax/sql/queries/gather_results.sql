-- The result of executions whose goals are fan-outs, put together where the results are.
update tenax.execution e
   set result = (select jsonb_object_agg(s.step, coalesce(s.result, 'null'::jsonb))
                   from tenax.step s
                  where s.execution_id = e.id and s.step = any(x.steps))
  from (select r.id, string_to_array(r.names, ',') as steps from unnest($1::bigint[], $2::text[]) as r (id, names)) as x
 where e.id = x.id
