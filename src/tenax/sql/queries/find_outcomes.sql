-- The events, one array for each transaction, among which one names one of these tokens: the end of an attempt, or a late report.
select l.events
  from tenax.log l
 where l.execution_id = any($1::bigint[])
   and exists (select from jsonb_array_elements(l.events::jsonb) as e where e ->> 'token' = any($2::text[]))
 order by l.id
