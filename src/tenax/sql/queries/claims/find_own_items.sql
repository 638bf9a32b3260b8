-- Finds candidates for a worker that serves one execution ($1) and its children only (`tenax run`). Their queue and
-- labels do not matter, because no other worker will run them.
select {candidate_row}
  from tenax.item i
 where i.execution_id in (
    with recursive tree (id) as (
        select $1::bigint
        union all
        select c.id from tree t join tenax.execution c on c.parent_id = t.id
    )
    select id from tree
 )
   and i.queue <> 'tenax:budget' and i.standing in ('ready', 'restricted') and i.available_at <= tenax.now()
   and i.runtime = any($2::text[])
   and (i.refused_by is null or not i.refused_by @> $3::text[])
 order by i.priority desc, i.available_at
 limit $4::integer
