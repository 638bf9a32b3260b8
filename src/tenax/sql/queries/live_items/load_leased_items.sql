-- Loads the items whose lease is still the named one. A report on a missing item is late. The items need no lock of
-- their own, because only a transaction that holds the lock of their execution ends a lease.
select i.*
  from unnest($1::text::bigint[], string_to_array($2::text, E'\n')::uuid[]) as r (id, token)
 cross join lateral (
    -- Finds row by row by the key. With the limit no plan can begin with the items. Only a leased item has a token.
    select {item_row}
      from tenax.item i
     where i.id = r.id and i.lease_token = r.token
     limit 1
 ) as i
