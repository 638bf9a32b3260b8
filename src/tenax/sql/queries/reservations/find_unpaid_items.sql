-- Finds the next items of a tree ($1, its root) that wait for a budget, the oldest first.
select i.id, i.execution_id
  from tenax.item i
  join tenax.execution e on e.id = i.execution_id and e.state = 'running'
  join tenax.budget b on b.execution_id = i.execution_id
 where i.queue = 'tenax:budget' and (i.standing in ('ready', 'restricted') or i.state = 'held')
   and b.path[1] = $1::bigint
 order by i.id
 limit $2
