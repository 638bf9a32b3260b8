-- Finds how much of the rate of a queue is left, and when its next retry is due.
select tenax.now() as now,
       (select least(l.burst, l.tokens + l.rate * greatest(0, extract(epoch from tenax.now() - l.refilled_at)))
          from tenax.queue_limit l where l.queue = $1::text) as tokens,
       (select min(i.available_at)
          from tenax.item i
         where i.queue = $1 and i.standing in ('ready', 'restricted') and i.state = 'retrying' and i.available_at > tenax.now()) as next_at
