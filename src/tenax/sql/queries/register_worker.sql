-- A worker starts, perhaps with new code: what it refused in an earlier life it may be asked for again.
with known as (
    insert into tenax.worker (name, state, version, runtimes, queues, labels, slots, registered_at, last_heartbeat)
    values ($1::text, 'active', $2::text, $3::text[], $4::text[], $5::jsonb, $6::integer, tenax.now(), tenax.now())
    on conflict (name) do update
       set state = 'active', version = excluded.version, runtimes = excluded.runtimes, queues = excluded.queues,
           labels = excluded.labels, slots = excluded.slots, registered_at = excluded.registered_at,
           last_heartbeat = excluded.last_heartbeat
), forgiven as (
    update tenax.item set refused_by = nullif(array_remove(refused_by, $1::text), '{}')
     where refused_by is not null and state in ('queued', 'retrying') and refused_by @> array[$1::text]
)
insert into tenax.log (at, events)
values (tenax.now(), jsonb_build_array(jsonb_build_object('type', 'worker_registered', 'data', jsonb_build_object(
           'worker', $1::text, 'version', $2::text, 'runtimes', $3::text[], 'queues', $4::text[], 'labels', $5::jsonb,
           'slots', $6::integer))))
