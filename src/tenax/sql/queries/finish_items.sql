-- Attempts that succeeded at once, each the only step of its execution: the whole end of both. An execution that someone else is
-- changing, or that is not as it was expected to be, is left out, and so is a lease that is over: they go the long way. Nobody is
-- waited for, so no order of locks can clash; an item goes only by its token, under the lock of its execution. The events are
-- complete but for the seconds that the attempt took.
with told as materialized (
    select u.item_id, u.token, u.result, u.head, u.tail
      from unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::jsonb[], $5::text[], $6::text[])
        as u (item_id, token, execution_id, result, head, tail)
     cross join lateral (
        -- One by one, by the index: a join of what is locked with what is told would be quadratic.
        select
          from tenax.execution e
         where e.id = u.execution_id and e.state = 'running' and e.open_steps = 1 and e.compensation is null
           and e.parent_id is null
           for update skip locked
     ) as locked
), gone as (
    delete from tenax.item i
     using told t
     where i.id = t.item_id and i.lease_token = t.token
    returning i.id, i.execution_id, i.started_at, t.result, t.head, t.tail
), closed as (
    update tenax.execution e
       set state = 'completed', open_steps = 0, result = g.result, finished_at = tenax.now()
      from gone g
     where e.id = g.execution_id
), logged as (
    insert into tenax.log (execution_id, at, events)
    select g.execution_id, tenax.now(),
           concat(g.head, extract(epoch from tenax.now() - g.started_at)::double precision, g.tail)::json
      from gone g
)
select id from gone
