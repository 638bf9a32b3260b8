-- The work items of these executions: those of fan-outs ($2), or all others. With each that waits for a child, whether it will hear of
-- the child's end.
select i.execution_id, i.step, i.item_no as item, i.compensates as undoes, i.state, i.available_at, i.created_at, i.attempt,
       i.max_attempts, i.ledger, i.last_error, i.worker, i.lease_token::text as lease_token, i.lease_until, i.timeout_at, i.started_at,
       i.previous, i.vary, i.awaiting, i.placed, i.paused, i.blocked, (i.action_gate is not null or i.key_gate is not null) as limited,
       coalesce(i.awaiting not like 'child:%', true)
       or exists (select
                    from tenax.execution c
                   where c.id = case when i.awaiting ~ '^child:[0-9]{1,18}$' then substr(i.awaiting, 7)::bigint end
                     and (c.finished_at is null
                          or exists (select from tenax.inbox b
                                      where b.execution_id = i.execution_id and b.body ->> 'child' = c.id::text))) as child_will_end
  from tenax.item i
 where i.execution_id = any($1::bigint[]) and (i.item_no is not null) = $2::boolean
 order by i.execution_id, i.step collate "C", i.item_no, i.compensates
