insert into tenax.delayed_start (execution_id, start_at)
select x.id, x.start_at from unnest($1::bigint[], $2::timestamptz[]) as x (id, start_at)
