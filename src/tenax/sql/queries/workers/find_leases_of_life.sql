-- Finds the leases of this life of a worker, if it is still the latest of its name.
select i.id, i.execution_id
  from tenax.worker w
  join tenax.item i on i.worker = w.name and i.state = 'leased' and i.started_at >= w.registered_at
 where w.name = $1::text and w.life = $2::uuid
 order by i.id
 limit $3::integer
