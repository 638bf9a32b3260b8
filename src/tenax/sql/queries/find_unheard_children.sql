-- Children that have ended, whose parents wait for them, and of whom no message is under way.
select c.id
  from tenax.item i
  join tenax.execution c on c.parent_id = i.execution_id and c.parent_step = i.step
                        and coalesce(c.parent_item_no, -1) = coalesce(i.item_no, -1) and c.parent_attempt = i.attempt
 where i.state = 'accepted' and i.awaiting = 'child' and c.finished_at is not null
   and not exists (select from tenax.inbox b where b.execution_id = i.execution_id and b.body ->> 'child' = c.id::text)
 limit 500
