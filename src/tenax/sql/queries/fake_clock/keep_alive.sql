-- Brings the heartbeats up to the time of the clock, as if the server and its workers had been alive all the time. Extends the
-- leases with the tokens in $1 by $2 seconds. Returns the tokens of those whose timeout is over.
with service as (
    update tenax.service set alive_at = tenax.now() where alive_at is not null
), worker as (
    update tenax.worker set last_heartbeat = tenax.now() where state <> 'gone'
), lease as (
    update tenax.item set expires_at = tenax.now() + make_interval(secs => $2::double precision)
     where state = 'leased' and lease_token = any($1::uuid[])
    returning lease_token, started_at + make_interval(secs => timeout) <= tenax.now() as is_over
)
select lease_token::text from lease where is_over
