-- A heartbeat: the leases it names live on. What does not come back is no longer the worker's.
with beat as (
    update tenax.worker set last_heartbeat = tenax.now(), state = case when state = 'gone' then 'active' else state end
     where name = $1::text
), mine as (
    select i.id
      from unnest($2::bigint[], $3::uuid[]) as h (id, token)
      join tenax.item i on i.id = h.id and i.lease_token = h.token and i.state = 'leased'
     order by i.id
       for update of i
)
update tenax.item i
   set lease_until = tenax.now() + make_interval(secs => $4::double precision)
  from mine
 where i.id = mine.id
returning i.id
