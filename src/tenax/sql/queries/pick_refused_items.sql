-- As pick_ready_items, for items that some worker has refused: only the others are asked. All slots are of one worker.
select i.id
  from tenax.item i
 where i.refused_by is not null and i.state in ('queued', 'retrying') and i.leasable and i.available_at <= tenax.now()
   and not i.refused_by && $4::text[]
   and i.queue = any($1::text[])
   and i.runtime = any($2::text[])
   and (i.labels is null or i.labels <@ $3::jsonb)
 order by i.priority desc, i.available_at
 limit cardinality($4::text[])
   for update skip locked
