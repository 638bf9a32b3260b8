with known as (
    insert into tenax.worker (name, state, version, runtimes, queues, labels, slots, registered_at, last_heartbeat)
    values ($1::text, 'active', $2::text, $3::text[], $4::text[], $5::jsonb, $6::integer, tenax.now(), tenax.now())
    on conflict (name) do update
       set state = 'active', version = excluded.version, runtimes = excluded.runtimes, queues = excluded.queues,
           labels = excluded.labels, slots = excluded.slots, registered_at = excluded.registered_at,
           last_heartbeat = excluded.last_heartbeat
)
insert into tenax.log (at, events)
values (tenax.now(), jsonb_build_array(jsonb_build_object('type', 'worker_registered', 'data', jsonb_build_object(
           'worker', $1::text, 'version', $2::text, 'runtimes', $3::text[], 'queues', $4::text[], 'labels', $5::jsonb,
           'slots', $6::integer))))
