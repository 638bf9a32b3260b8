-- Locks the limits of these queues, and computes the tokens of their rates as they are now. A paused queue lets nothing
-- start.
select l.queue, case when l.paused_by is null then l.concurrency else 0 end as concurrency, l.rate, l.burst,
       least(l.burst, l.tokens + l.rate * greatest(0, extract(epoch from tenax.now() - l.refilled_at)))::double precision as tokens,
       greatest(l.refilled_at, tenax.now()) as at
  from tenax.queue_limit l
 where l.queue = any($1::text[])
 order by l.queue
   for update
