-- Finds candidates for a worker that serves one execution ($1) and its children only (`tenax run`): items of any queue and labels,
-- for no other worker will run them.
select i.id, i.queue, i.runtime, i.labels, i.refused_by, i.suspect, i.priority,
       extract(epoch from tenax.now() - i.available_at)::double precision as waited, i.state = 'retrying' as is_retry,
       i.lane, i.action_gate, i.action_most, i.key_gate, i.key_most
  from tenax.item i
 where i.execution_id in (
    with recursive tree (id) as (
        select $1::bigint
        union all
        select c.id from tree t join tenax.execution c on c.parent_id = t.id
    )
    select id from tree
 )
   and i.leasable and i.available_at <= tenax.now()
   and i.runtime = any($2::text[])
   and (i.refused_by is null or not i.refused_by @> $3::text[])
 order by i.priority desc, i.available_at
 limit $4::integer
