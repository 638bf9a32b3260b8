-- Items that were chosen, one for each slot; but for those that someone else was quicker to take.
select i.ctid as place, x.n, x.request, x.token
  from unnest($7::bigint[], $5::text::integer[], string_to_array($6::text, E'\n')::uuid[]) with ordinality as x (id, request, token, n)
  join tenax.item i on i.id = x.id
 where i.leasable and i.available_at <= tenax.now()
   for update of i skip locked
