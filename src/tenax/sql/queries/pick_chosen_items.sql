-- Items that were chosen, and are locked already.
select x.id from unnest($5::bigint[]) as x (id)
