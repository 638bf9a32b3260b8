-- Finds candidates for a group of workers: ready unrestricted items, of each level ($1, $2) up to $3 new ones and as
-- many retries. Locks nothing: only chosen items are locked.
select c.*
  from unnest($1::text[], $2::smallint[], $3::integer[]) as l (queue, priority, most)
 cross join (values ('queued'), ('retrying')) as s (state)
 cross join lateral (
    select {candidate_row}
      from tenax.item i
     where i.queue = l.queue and i.priority = l.priority and i.state = s.state and i.standing = 'ready'
       and i.available_at <= tenax.now()
       and i.runtime = any($4::text[])
       and (i.labels is null or i.labels <@ $5::jsonb)
     order by i.available_at
     limit l.most
 ) as c
 limit $6::integer
