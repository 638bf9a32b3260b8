-- Gives items retry policies of their own. $2 has the number of each item's policy in the list $3.
update tenax.item i
   set policy = p.policy, max_attempts = (p.policy ->> 'max_attempts')::integer
  from unnest($1::bigint[], $2::integer[]) as x (id, n)
  join unnest($3::jsonb[]) with ordinality as p (policy, n) on p.n = x.n
 where i.id between x.id and x.id
