-- Locks the started items of these executions: all of them ($2 true), or those that only wait ($2 false), which
-- excludes items that run with a worker, with a callee or as a child. If steps are given, only theirs. Items that have
-- not been started yet are ended by `end_unstarted_items`.
select i.id, i.execution_id, i.step, i.item_no, i.attempt, i.state, i.worker, i.compensates,
       case when i.state in ('leased', 'accepted') then array_remove(array[(i.limits).action, (i.limits).key], null) else '{}' end as limits,
       i.ledger
  from tenax.item i
 where i.execution_id = any($1::bigint[]) and i.state <> 'waiting'
   and ($2::boolean or i.state <> 'leased' and (i.state <> 'accepted' or i.runtime in ('sleep', 'wait')))
   and ($3::text[] is null or i.step = any($3) and not i.compensates)
 order by i.id
   for update of i
