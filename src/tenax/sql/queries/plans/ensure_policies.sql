insert into tenax.policy (hash, body)
select x.hash, x.body from unnest($1::text[], $2::jsonb[]) as x (hash, body)
on conflict (hash) do nothing
