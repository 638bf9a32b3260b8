-- The children that steps of this execution wait for.
select substr(i.awaiting, 7)::bigint as id
  from tenax.item i
 where i.execution_id = $1::bigint and i.state = 'accepted' and i.awaiting like 'child:%'
