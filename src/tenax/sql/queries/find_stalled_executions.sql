-- Running executions of which nothing is queued, leased, waiting or held: there should be none.
select e.id
  from tenax.execution e
 where e.state = 'running' and e.deactivated_at is null and e.id > $1::bigint
   and not exists (select from tenax.item i where i.execution_id = e.id)
 order by e.id
 limit $2::integer
