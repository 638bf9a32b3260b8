-- Inserts the missing row of a fan-out. Its counters are computed after that.
insert into tenax.fan (execution_id, step, total, tolerated, parallelism, placed, queue_ttl)
values ($1::bigint, $2::text, $3::integer, $4::integer, $5::integer, coalesce($5, $3), $6::double precision)
    on conflict (execution_id, step) do nothing
