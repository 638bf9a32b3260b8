-- Finds trees with items that wait for a budget, by their roots. Paused executions and items without a slot wait for more.
select distinct b.path[1] as root
  from tenax.item i
  join tenax.execution e on e.id = i.execution_id and e.state = 'running'
  join tenax.budget b on b.execution_id = i.execution_id
 where i.queue = 'tenax:budget' and (i.standing in ('ready', 'restricted') or i.state = 'held')
   and b.path[1] <> all($1::bigint[])
 limit 200
