-- Resumes a queue: its row goes unless it has a limit. Returns nothing if it was not paused.
with resumed as (
    update tenax.queue_limit
       set paused_by = null, paused_why = null, paused_at = null
     where queue = $1::text and paused_by is not null and (concurrency is not null or rate is not null)
    returning queue
), gone as (
    delete from tenax.queue_limit
     where queue = $1 and paused_by is not null and concurrency is null and rate is null
    returning queue
)
select queue from resumed union all select queue from gone
