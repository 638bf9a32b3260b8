-- Returns children of these executions, at most $2 of each, with the number of all.
select c.id, c.parent_id, c.parent_step, c.parent_item_no, c.parent_attempt, c.state, c.failure, c.created_at, c.finished_at,
       w.name as workflow, c.n
  from (select e.*, row_number() over (partition by e.parent_id order by e.id) as place,
               count(*) over (partition by e.parent_id) as n
          from tenax.execution e
         where e.parent_id = any($1::bigint[])) as c
  join tenax.plan p on p.id = c.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where c.place <= $2::integer
 order by c.parent_id, c.id
