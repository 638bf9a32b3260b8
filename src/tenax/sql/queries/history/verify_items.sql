-- Returns the work items of these executions: those of fan-outs ($2), or all others. For an item that waits for a
-- child, also returns whether it will be told of the child's end.
select i.execution_id, i.step, i.item_no as item, i.compensates as undoes, i.state, i.available_at, i.created_at, i.attempt,
       i.max_attempts, i.ledger, i.last_error, i.worker, i.lease_token::text as lease_token, i.expires_at, i.started_at,
       i.previous, i.vary, i.awaiting, c.id as child, i.stopped_by,
       i.awaiting is distinct from 'child'
       or c.id is not null
          and (c.finished_at is null
               or exists (select from tenax.inbox b where b.execution_id = i.execution_id and b.body ->> 'child' = c.id::text))
          as child_will_end
  from tenax.item i
  left join tenax.execution c on i.awaiting = 'child' and {is_child_of_item}
 where i.execution_id = any($1::bigint[]) and (i.item_no is not null) = $2::boolean
 order by i.execution_id, i.step collate "C", i.item_no, i.compensates
