-- Reserves the prices of the next attempts of items. $1 budget, $2 item, $3 cost, $4 tokens.
insert into tenax.reservation (budget, item_id, cost_usd, tokens)
select x.budget, x.item_id, x.cost_usd, x.tokens
  from unnest($1::bigint[], $2::bigint[], $3::double precision[], $4::bigint[]) as x (budget, item_id, cost_usd, tokens)
    on conflict (budget, item_id) do update set cost_usd = excluded.cost_usd, tokens = excluded.tokens
