with new as (
    insert into tenax.plan (hash, workflow_id, policies) values ($1::text, $2::bigint, $3::jsonb)
    on conflict (hash) do nothing
    returning id
)
select id from new union all select id from tenax.plan where hash = $1 limit 1
