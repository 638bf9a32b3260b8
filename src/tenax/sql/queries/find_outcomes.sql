-- For each of these tokens that ended an attempt: the events that were written together with its end.
select t.token, l.events
  from tenax.log l
 cross join lateral (select e ->> 'token' as token from jsonb_array_elements(l.events::jsonb) as e where e ? 'token') as t
 where l.execution_id = any($1::bigint[]) and t.token = any($2::text[])
 order by l.id
