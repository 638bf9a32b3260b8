-- Returns these dead letters with the states of their executions and of their items, as far as they are live.
select {letter_columns}, e.state as execution_status, i.state as item_state, i.element,
       (select r.element from tenax.item_result r
         where r.execution_id = l.execution_id and r.step = l.step and r.item_no = l.item_no) as kept_element
  from tenax.dead_letter l
  join tenax.execution e on e.id = l.execution_id
  left join tenax.item i on i.execution_id = l.execution_id and i.step = l.step and i.item_no is not distinct from l.item_no
                        and i.compensates = l.compensates
 where l.item_id = any($1::bigint[])
 order by l.item_id
