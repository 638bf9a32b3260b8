insert into tenax.workflow (hash, name, version, body) values ($1::text, $2::text, $3::text, $4::jsonb)
on conflict (hash) do update set hash = excluded.hash -- so that the row of a faster transaction is returned too
returning id
