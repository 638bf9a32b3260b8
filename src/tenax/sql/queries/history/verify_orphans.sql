-- Finds executions that do not exist but have events or rows: those after $1, up to $2.
select o.name, o.execution_id
  from (select 'log' as name, execution_id from tenax.log where execution_id > $1::bigint and execution_id <= $2::bigint
        union
        select 'item', execution_id from tenax.item where execution_id > $1 and execution_id <= $2
        union
        select 'step', execution_id from tenax.step where execution_id > $1 and execution_id <= $2
        union
        select 'fan', execution_id from tenax.fan where execution_id > $1 and execution_id <= $2
        union
        select 'dead_letter', execution_id from tenax.dead_letter where execution_id > $1 and execution_id <= $2
        union
        select 'item_result', execution_id from tenax.item_result where execution_id > $1 and execution_id <= $2) as o
 where not exists (select from tenax.execution e where e.id = o.execution_id)
 order by o.execution_id, o.name
 limit 1000
