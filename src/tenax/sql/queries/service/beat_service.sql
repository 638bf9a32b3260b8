-- Records that a server is alive. If no server was alive for longer than $1 seconds (and one was before), no lease may
-- expire for another $2 seconds, because workers could not send heartbeats. The same holds for waits for a signal, an
-- approval, a callback or a child that began before, because these could not arrive. It also holds if the last record
-- is later than now. Then the clock was set back by that time.
with before as (
    select alive_at < tenax.now() - make_interval(secs => $1::double precision)
           or alive_at > tenax.now() + interval '1 second' as gap,
           case when alive_at > tenax.now() + interval '1 second'
                then extract(epoch from alive_at - tenax.now())::double precision end as set_back
      from tenax.service for update
), spared as (
    update tenax.item i
       set expires_at = tenax.now() + make_interval(secs => $2::double precision)
      from before
     where before.gap and i.state = 'accepted' and i.runtime <> 'sleep'
       and i.expires_at < tenax.now() + make_interval(secs => $2)
)
update tenax.service
   set reap_after = case when before.gap then tenax.now() + make_interval(secs => $2) else reap_after end,
       alive_at = tenax.now()
  from before
returning before.set_back
