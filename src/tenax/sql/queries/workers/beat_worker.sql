-- Records a heartbeat. A heartbeat of an earlier life ($2 is no longer the name's) gets an answer and changes nothing.
with beat as (
    update tenax.worker
       set last_heartbeat = tenax.now(), state = case when state = 'gone' then wanted else state end,
           reported = coalesce($3::jsonb, reported), reported_at = case when $3 is null then reported_at else tenax.now() end
     where name = $1::text and life is not distinct from $2::uuid
)
select case when state = 'gone' then wanted else state end as state, health,
       state = 'draining' and state_actor is distinct from 'tenax:server' as leave,
       life is distinct from $2 as superseded, protocol
  from tenax.worker
 where name = $1
