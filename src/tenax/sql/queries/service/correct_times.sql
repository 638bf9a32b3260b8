-- Corrects times after the clock was set back. These are times that servers wrote by the earlier clock, or that are
-- further ahead than they can be: leases ($1: their length in seconds), new work, heartbeats, probes ($2: seconds), the
-- windows of health, rates. Times in events (a retry, a sleep, a deadline) stay as they are.
with leases as (
    update tenax.item
       set expires_at = least(expires_at, tenax.now() + make_interval(secs => $1::double precision)),
           started_at = least(started_at, tenax.now())
     where state = 'leased' and (expires_at > tenax.now() + make_interval(secs => $1) or started_at > tenax.now())
), fresh as (
    update tenax.item
       set available_at = tenax.now(), expires_at = expires_at - (available_at - tenax.now())
     where state = 'queued' and available_at > tenax.now()
), workers as (
    update tenax.worker
       set last_heartbeat = least(last_heartbeat, tenax.now()),
           -- A registration that was before the last heartbeat stays before it. This order says that the worker has
           -- sent heartbeats.
           registered_at = least(registered_at, case when last_heartbeat > registered_at then tenax.now() - interval '1 second'
                                                     else tenax.now() end),
           health_since = case when health_since > tenax.now() then tenax.now() else health_since end,
           reported_at = case when reported_at > tenax.now() then tenax.now() else reported_at end,
           last_success_at = case when last_success_at > tenax.now() then tenax.now() else last_success_at end,
           last_failure_at = case when last_failure_at > tenax.now() then tenax.now() else last_failure_at end,
           probed_at = case when probed_at > tenax.now() then tenax.now() else probed_at end,
           recovering_since = case when recovering_since > tenax.now() then tenax.now() else recovering_since end,
           state_since = case when state_since > tenax.now() then tenax.now() else state_since end,
           probe_at = case when probe_at > tenax.now() + make_interval(secs => $2::double precision)
                           then tenax.now() + make_interval(secs => $2) else probe_at end
     where greatest(last_heartbeat, registered_at, health_since, reported_at, last_success_at, last_failure_at, probed_at,
                    recovering_since, state_since) > tenax.now()
        or probe_at > tenax.now() + make_interval(secs => $2)
), windows as (
    delete from tenax.worker_window where bucket > tenax.now()
), losses as (
    update tenax.worker_loss set at = tenax.now() where at > tenax.now()
)
update tenax.queue_limit set refilled_at = tenax.now() where refilled_at > tenax.now()
