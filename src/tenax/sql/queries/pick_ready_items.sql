-- Ready items for these queues, runtimes and labels, most urgent first, as many as there are slots.
select c.id
  from generate_series(9, 0, -1) as p (priority)
 cross join unnest($1::text[]) as q (queue)
 cross join lateral (
    select i.id
      from tenax.item i
     where i.queue = q.queue and i.priority = p.priority and i.leasable
       and i.available_at <= tenax.now()
       and i.runtime = any($2::text[])
       and (i.labels is null or i.labels <@ $3::jsonb)
       and i.refused_by is null
     order by i.available_at
     limit cardinality($4::text[])
       for update skip locked
 ) as c
 limit cardinality($4::text[])
