-- Returns when something of each kind is next due within $3 seconds, without the items in $1, and what is ready now.
-- (Later times are not searched. Under load, the search would pass over all leases that have ended since the last
-- vacuum.)
select tenax.now() as now,
       (select min(available_at) from tenax.item
         where state = 'retrying' and available_at > tenax.now()
           and available_at <= tenax.now() + make_interval(secs => $3::double precision)) as retry,
       (select min(expires_at) from tenax.item
         where state = 'leased' and expires_at <= tenax.now() + make_interval(secs => $3) and id <> all($1::bigint[])) as expiry,
       -- Each query names one state. Only then does it read nothing but the first entry of the index.
       (select min(w.expires_at)
          from unnest(array['accepted', 'held', 'queued', 'retrying']) as s (state)
         cross join lateral (
            select i.expires_at from tenax.item i
             where i.state = s.state and i.expires_at <= tenax.now() + make_interval(secs => $3) and i.id <> all($1::bigint[])
             order by i.expires_at limit 1) as w) as wait,
       (select min(deadline_at) from tenax.execution
         where state in ('running', 'paused') and deadline_at <= tenax.now() + make_interval(secs => $3)) as deadline,
       least((select min(look_at) from tenax.schedule where look_at <= tenax.now() + make_interval(secs => $3)),
             (select min(start_at) from tenax.delayed_start
               where start_at <= tenax.now() + make_interval(secs => $3))) as start,
       (select reap_after from tenax.service) as reap_after,
       exists (select from tenax.item
                where queue = $2::text and priority = 5 and state in ('queued', 'retrying') and standing = 'ready'
                  and available_at <= tenax.now()) as server_steps,
       exists (select from tenax.inbox) as messages,
       exists (select from tenax.fan f
                where not f.closed and f.placed < f.parallelism
                  and exists (select from tenax.item i
                               where i.execution_id = f.execution_id and i.step = f.step and i.state = 'retrying'
                                 and i.stopped_by = 'slot' and i.available_at <= tenax.now())) as places
