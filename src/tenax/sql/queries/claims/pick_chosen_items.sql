-- Picks and locks the chosen items ($7), one for each slot. Items that another server has leased meanwhile are left
-- out.
select i.ctid as place, x.n, x.request, x.token
  from unnest($7::bigint[], $5::text::integer[], string_to_array($6::text, E'\n')::uuid[]) with ordinality as x (id, request, token, n)
  join tenax.item i on i.id = x.id
 where i.standing in ('ready', 'restricted') and i.available_at <= tenax.now()
   for update of i skip locked
