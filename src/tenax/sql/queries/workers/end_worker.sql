-- Ends a worker that says it is leaving. An earlier life ($2) cannot say so for a later one.
update tenax.worker set state = 'gone', last_heartbeat = tenax.now(), wanted = case when wanted = 'draining' and state_actor is distinct from 'tenax:server' then 'active' else wanted end
 where name = $1::text and life is not distinct from $2::uuid
