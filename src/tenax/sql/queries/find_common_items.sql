-- Candidates (not locked: who is chosen is) for workers that are able to run the same: ready items that any of them may have, of each
-- level up to $3 new ones and as many to be retried.
select c.id, c.queue, c.priority, c.waited, c.again, c.runtime, c.labels, c.refused_by, c.suspect, c.lane, c.action_gate, c.action_most,
       c.key_gate, c.key_most
  from unnest($1::text[], $2::smallint[], $3::integer[]) as l (queue, priority, most)
 cross join (values ('queued'), ('retrying')) as s (state)
 cross join lateral (
    select i.id, i.queue, i.priority, extract(epoch from tenax.now() - i.available_at)::double precision as waited,
           i.state = 'retrying' as again, i.runtime, i.labels, i.refused_by, i.suspect, i.lane, i.action_gate, i.action_most,
           i.key_gate, i.key_most
      from tenax.item i
     where i.queue = l.queue and i.priority = l.priority and i.state = s.state and i.leasable and i.common
       and i.available_at <= tenax.now()
       and i.runtime = any($4::text[])
       and (i.labels is null or i.labels <@ $5::jsonb)
     order by i.available_at
     limit l.most
 ) as c
 limit $6::integer
