insert into tenax.plan (hash, workflow_id, policies, children, actions, packs)
values ($1::text, $2::bigint, $3::jsonb, $4::jsonb, $5::jsonb, $6::text[])
on conflict (hash) do update set hash = excluded.hash -- so that the row of a faster transaction is returned too
returning id
