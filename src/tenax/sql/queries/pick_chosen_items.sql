-- Items that were chosen, with the number of the slot each goes to; but for those that someone else was quicker to take.
select i.id, x.n
  from unnest($6::bigint[]) with ordinality as x (id, n)
  join tenax.item i on i.id = x.id
 where i.leasable and i.available_at <= tenax.now()
   for update of i skip locked
