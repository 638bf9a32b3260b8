-- Pauses a queue. Returns nothing if it is paused already.
insert into tenax.queue_limit as old (queue, tokens, refilled_at, paused_by, paused_why, paused_at)
values ($1::text, 0, tenax.now(), $2::text, $3::text, tenax.now())
    on conflict (queue) do update
   set paused_by = excluded.paused_by, paused_why = excluded.paused_why, paused_at = excluded.paused_at
 where old.paused_by is null
returning queue
