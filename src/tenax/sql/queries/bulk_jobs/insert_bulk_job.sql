insert into tenax.bulk_job (action, filter, reason, actor, rate, canary, max_failed, canary_state, total, created_at, step, result, policy)
values ($1, $2, $3, $4, $5, $6::integer, $7, case when $6::integer is not null then 'open' end, 0, tenax.now(), $8, $9, $10)
returning id
