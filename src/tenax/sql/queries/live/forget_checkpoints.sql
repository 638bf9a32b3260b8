-- Looks at the next $4 checkpoints after a key ($1, $2, $3), and removes those whose work has succeeded. Returns the last key, or
-- nothing if there are fewer.
with seen as (
    select c.execution_id, c.step, c.item_no, c.compensates
      from tenax.checkpoint c
     where (c.execution_id, c.step, c.item_no) > ($1::bigint, $2::text, $3::integer)
     order by c.execution_id, c.step, c.item_no
     limit $4::integer
), gone as (
    delete from tenax.checkpoint c
     using seen s
     where c.execution_id = s.execution_id and c.step = s.step and c.item_no = s.item_no and c.compensates = s.compensates
       and not exists (
            select from tenax.item i
             where i.execution_id = c.execution_id and i.step = c.step and coalesce(i.item_no, -1) = c.item_no
               and i.compensates = c.compensates)
       and (exists (select from tenax.execution e where e.id = c.execution_id and e.state = 'completed')
            or exists (select from tenax.step t where t.execution_id = c.execution_id and t.step = c.step and t.state = 'completed')
            or exists (select from tenax.item_result r
                        where r.execution_id = c.execution_id and r.step = c.step and r.item_no = c.item_no
                          and r.state = 'succeeded'))
)
select execution_id, step, item_no from seen order by execution_id desc, step desc, item_no desc limit 1
