-- A server is alive. If none was for longer than $1 seconds (having been alive before), no lease may expire for another $2: workers could not
-- have sent their heartbeats. Nor may what waits for a signal, an approval, a callback or a child, if it began before: they could not
-- have come.
with before as (
    select alive_at < tenax.now() - make_interval(secs => $1::double precision) as gap from tenax.service for update
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
returning reap_after
