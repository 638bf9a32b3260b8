with new as (
    insert into tenax.workflow (hash, name, version, body) values ($1::text, $2::text, $3::text, $4::jsonb)
    on conflict (hash) do nothing
    returning id
)
select id from new union all select id from tenax.workflow where hash = $1 limit 1
