-- Finds ended children whose parents wait for them although no message about the end is under way.
select c.id
  from tenax.item i
  join tenax.execution c on {is_child_of_item}
 where i.state = 'accepted' and i.awaiting = 'child' and c.finished_at is not null
   and not exists (select from tenax.inbox b where b.execution_id = i.execution_id and b.body ->> 'child' = c.id::text)
 limit 500
