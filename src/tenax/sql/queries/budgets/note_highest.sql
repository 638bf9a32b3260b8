-- Keeps the highest use of one attempt by step. $1 root, $2 the whole mapping as it is now.
update tenax.budget b
   set highest = x.highest::jsonb
  from unnest($1::bigint[], $2::text[]) as x (execution_id, highest)
 where b.execution_id = x.execution_id
