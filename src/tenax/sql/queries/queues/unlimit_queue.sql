-- Removes the limits of a queue. The row of a paused queue stays.
with paused as (
    update tenax.queue_limit
       set concurrency = null, rate = null, burst = null, tokens = 0
     where queue = $1::text and paused_by is not null
    returning queue
)
delete from tenax.queue_limit where queue = $1 and paused_by is null
