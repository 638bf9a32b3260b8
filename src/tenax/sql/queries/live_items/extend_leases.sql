-- Extends the leases that a heartbeat names, up to $4 seconds beyond the timeout of the attempt. Returns the positions
-- of these leases in the arrays. The worker no longer has the others. If another transaction has locked a lease, that
-- transaction decides on it. This statement does not wait for it (two orders of locking would deadlock), and the next
-- heartbeat finds it.
with named as materialized (
    select i.id, h.place
      from unnest($1::bigint[], $2::uuid[]) with ordinality as h (id, token, place)
      join tenax.item i on i.id = h.id and i.lease_token = h.token and i.state = 'leased'
), mine as (
    select i.id from tenax.item i join named n on n.id = i.id and i.state = 'leased' for update of i skip locked
), extended as (
    update tenax.item i
       set expires_at = least(tenax.now() + make_interval(secs => $3::double precision),
                              i.started_at + make_interval(secs => i.timeout + $4::double precision))
      from mine
     where i.id = mine.id
)
select place::integer from named
