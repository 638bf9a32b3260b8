-- The items whose lease is still the one that is named. What is missing here is late. They need no lock of their own: a
-- lease is ended only by one who holds the lock of its execution.
select i.*
  from unnest($1::text::bigint[], string_to_array($2::text, E'\n')::uuid[]) as r (id, token)
 cross join lateral (
    -- One by one, by the key: with the limit no plan can begin with the items. Only a leased item has a token.
    select {item_row}
      from tenax.item i
     where i.id = r.id and i.lease_token = r.token
     limit 1
 ) as i
