-- Inserts a signal, once for each key. Returns no row if the key was used before.
insert into tenax.signal (execution_id, name, data, actor, key, created_at, taken_by)
values ($1::bigint, $2::text, $3::jsonb, $4::text, $5::text, $6::timestamptz, $7::bigint)
on conflict (execution_id, key) where key is not null do nothing
returning id
