-- The columns of an item `i` that ItemRow has, in its order. The child that it waits for is found by the child's
-- parent columns.
i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.attempt, i.max_attempts, i.ledger, i.created_at, i.worker, i.started_at,
       i.state, i.lease_token::text, i.refused_by, i.runtime, i.compensates, i.awaiting,
       case when i.awaiting = 'child'
            then (select c.id from tenax.execution c
                   where {is_child_of_item}) end as child,
       i.stopped_by is distinct from 'slot' as placed, (i.limits).action, (i.limits).key, i.policy
