-- As pick_ready_items, for a worker that serves one execution and its children only (`tenax run`): it is all there is, so it
-- takes items of any queue and labels ($1 and $3 are only there to be the same parameters).
select i.id
  from tenax.item i
 where i.execution_id in (
    with recursive tree (id) as (
        select $8::bigint
        union all
        select c.id from tree t join tenax.execution c on c.parent_id = t.id
    )
    select id from tree
 )
   and i.leasable and i.available_at <= tenax.now()
   and $1::text[] is not null and $3::jsonb is not null
   and i.runtime = any($2::text[])
   and (i.refused_by is null or not i.refused_by && $4::text[])
 order by i.priority desc, i.available_at
 limit cardinality($4::text[])
   for update skip locked
