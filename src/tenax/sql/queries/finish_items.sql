-- Attempts that succeeded, each with what follows from it: the end of the execution ($6 is its result), or the next step: $9 is the
-- place of its action in $10 to $18. At most one of an execution. One that someone else is changing, or that is not as it was expected
-- to be, is left out, and so is a lease that is over: they go the long way. Nobody is waited for, so no order of locks can clash; an
-- item goes only by its token, under the lock of its execution. The events are complete but for the seconds that the attempt took.
with told as materialized (
    select u.*
      from unnest($1::text::bigint[], string_to_array($2::text, E'\n')::uuid[], $3::text::bigint[], $4::text::boolean[],
                  string_to_array($5::text, E'\n', '')::jsonb[], string_to_array($6::text, E'\n', '')::jsonb[],
                  string_to_array($7::text, E'\n'), string_to_array($8::text, E'\n'), $9::text::bigint[])
        as u (item_id, token, execution_id, is_kept, result, whole, head, tail, next)
     cross join lateral (
        -- One by one, by the index: a join of what is locked with what is told would be quadratic.
        select
          from tenax.execution e
         where e.id = u.execution_id and e.state = 'running' and e.compensation is null
           and case when u.next is null then e.open_steps = 1 and e.parent_id is null
                    else e.open_steps > 1 and e.retry_of is null end
           for update skip locked
     ) as locked
), gone as (
    delete from tenax.item i
     using told t
     where i.id = t.item_id and i.lease_token = t.token
    returning i.id, i.execution_id, i.plan_id, i.step, i.attempt, i.started_at, i.base_dir, i.lane,
              t.is_kept, t.result, t.whole, t.head, t.tail, t.next
), kept as (
    insert into tenax.step (execution_id, step, state, attempts, result)
    select g.execution_id, g.step, 'completed', g.attempt, g.result from gone g where g.is_kept
        on conflict (execution_id, step) do update
       set state = excluded.state, waiting_for = 0, attempts = excluded.attempts, result = excluded.result
), closed as (
    update tenax.execution e
       set state = case when g.next is null then 'completed' else e.state end, open_steps = e.open_steps - 1,
           result = g.whole, finished_at = case when g.next is null then tenax.now() end
      from gone g
     where e.id = g.execution_id
), fresh as (
    insert into tenax.item
           (execution_id, plan_id, step, state, queue, runtime, priority, labels, available_at, queue_deadline,
            created_at, max_attempts, timeout, queue_ttl, vary, lane, base_dir)
    select g.execution_id, g.plan_id, a.step, 'queued', a.queue, a.runtime, a.priority, a.labels, tenax.now(),
           tenax.now() + make_interval(secs => a.queue_ttl), tenax.now(), a.max_attempts, a.timeout, a.queue_ttl, a.vary,
           g.lane, g.base_dir
      from unnest($10::text[], $11::text[], $12::text[], $13::text::smallint[], $14::jsonb[], $15::text::integer[],
                  $16::text::double precision[], $17::text::double precision[], $18::jsonb[])
           with ordinality as a (step, queue, runtime, priority, labels, max_attempts, timeout, queue_ttl, vary, n)
      join gone g on g.next = a.n
), logged as (
    insert into tenax.log (execution_id, at, events)
    select g.execution_id, tenax.now(),
           concat(g.head, extract(epoch from tenax.now() - g.started_at)::double precision, g.tail)
      from gone g
)
select id from gone
