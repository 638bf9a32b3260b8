-- Writes the counters of fan-outs, and gives their free slots to waiting items: retries that are due, then the next
-- items in the order of the list. Returns the number of items that got a slot.
with fan_outs as (
    select f.execution_id, f.step, f.queue_ttl, e.state = 'paused' as paused, x.ended, x.failed, x.attempts, x.closed, x.placed,
           case when x.closed or f.parallelism is null then 0 else greatest(f.parallelism - x.placed, 0) end as free
      from unnest($1::bigint[], $2::text[], $3::integer[], $4::integer[], $5::bigint[], $6::integer[], $7::boolean[])
        as x (execution_id, step, ended, failed, attempts, placed, closed)
      join tenax.fan f on f.execution_id = x.execution_id and f.step = x.step
      join tenax.execution e on e.id = x.execution_id
), picked as (
    select c.id, f.queue_ttl, f.paused
      from fan_outs f
     cross join lateral (
        select u.id
          from ((select i.id
                   from tenax.item i
                  where i.execution_id = f.execution_id and i.step = f.step and i.state = 'retrying' and i.stopped_by = 'slot'
                    and i.available_at <= tenax.now()
                  order by i.available_at, i.id
                  limit f.free)
                union all
                (select i.id
                   from tenax.item i
                  where i.execution_id = f.execution_id and i.step = f.step and i.state = 'waiting' and i.stopped_by = 'slot'
                  order by i.available_at, i.id
                  limit f.free)) as u
         limit f.free
     ) as c
), placed as (
    update tenax.item i
       set stopped_by = case when p.paused then 'pause' end,
           state = case i.state when 'waiting' then 'queued' else i.state end,
           available_at = case i.state when 'waiting' then tenax.now() else i.available_at end,
           created_at = case i.state when 'waiting' then tenax.now() else i.created_at end,
           expires_at = case when not p.paused then tenax.now() + make_interval(secs => p.queue_ttl) end
      from picked p
     where i.id = p.id
    returning i.execution_id, i.step
), counted as (
    select execution_id, step, count(*)::integer as n from placed group by 1, 2
), kept as (
    update tenax.fan f
       set ended = x.ended, failed = x.failed, attempts = x.attempts, closed = x.closed, placed = x.placed + coalesce(c.n, 0)
      from fan_outs x
      left join counted c on c.execution_id = x.execution_id and c.step = x.step
     where f.execution_id = x.execution_id and f.step = x.step
)
select coalesce(sum(n), 0)::integer from counted
