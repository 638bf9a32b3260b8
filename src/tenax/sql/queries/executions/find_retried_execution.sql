-- Finds the execution that an id of `ops.execution` belongs to, which is that of the event that started an attempt, and
-- the execution that has this id itself.
select (
    select l.execution_id
      from tenax.log l
     cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n)
     where l.id = $1::bigint / 32 * 32 and l.id + e.n - 1 = $1
       and e.event ->> 'type' in ('action_started', 'compensation_started', 'queue_expired')
) as of_attempt, (select e.id from tenax.execution e where e.id = $1) as of_execution
