-- Deletes items of fan-outs and compensations that have not been started: of these steps, or of all steps if null.
-- There may be a million of them, mostly with consecutive numbers. So only the first and the last of each run are
-- returned.
with ended as (
    delete from tenax.item i
     where i.execution_id = any($1::bigint[]) and i.state = 'waiting' and ($2::text[] is null or i.step = any($2))
    returning i.execution_id, i.step, i.item_no, i.compensates
), numbered as (
    select e.*, e.item_no - row_number() over (partition by e.execution_id, e.step, e.compensates order by e.item_no) as run
      from ended e
)
select n.execution_id, n.step, n.compensates, min(n.item_no) as first, max(n.item_no) as last
  from numbered n
 group by n.execution_id, n.step, n.compensates, n.run
 order by n.execution_id, n.step, n.compensates, first
