-- `waiting` is the open work item that says most about the execution, an error first, with its state in the words of
-- steps. `due_in` is the time until its retry, `fan_out` the counts of its fan-out. The conditions are those of a filter.
select e.id, w.name as workflow, w.version, e.state, e.failure, e.created_at, e.finished_at, e.retry_of, e.parent_id, e.compensation,
       (select jsonb_build_object(
                   'id', i.id, 'step', i.step, 'item', i.item_no,
                   'state', case i.state when 'leased' then 'running' when 'accepted' then 'running'
                                         when 'waiting' then 'pending' else i.state end,
                   'attempt', i.attempt, 'counted', coalesce((i.ledger ->> 'counted')::integer, 0),
                   'max_attempts', i.max_attempts, 'available_at', i.available_at,
                   'due_in', case when i.state = 'retrying'
                                  then greatest(0, round(extract(epoch from i.available_at - tenax.now()), 3)) end,
                   'last_error', i.last_error,
                   'fan_out', (select jsonb_build_object('total', f.total, 'ended', f.ended, 'failed', f.failed)
                                 from tenax.fan f
                                where i.item_no is not null and f.execution_id = i.execution_id and f.step = i.step),
                   'awaiting', i.awaiting, 'child', case when i.awaiting = 'child'
                         then (select c.id from tenax.execution c
                                where {is_child_of_item}) end,
                   'until', case when i.state in ('accepted', 'held') then i.expires_at end, 'compensates', i.compensates,
                   'lost_by', coalesce(i.ledger -> 'lost_by', '[]'))
          from tenax.item i
         where i.execution_id = e.id
         order by i.last_error is null, i.state not in ('retrying', 'held'), i.available_at, i.id
         limit 1) as waiting
  from tenax.execution e
  join tenax.plan p on p.id = e.plan_id
  join tenax.workflow w on w.id = p.workflow_id
 where ($1::bigint is null or e.id < $1) and ($3::bigint is null or e.id >= $3)
   and :conditions
 order by :order desc
 limit $2::integer
