-- Gives each item a retry policy of its own.
update tenax.item i
   set policy = x.policy, max_attempts = (x.policy ->> 'max_attempts')::integer
  from unnest($1::bigint[], $2::jsonb[]) as x (id, policy)
 where i.id between x.id and x.id
