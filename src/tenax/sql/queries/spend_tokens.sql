update tenax.queue_limit l
   set tokens = x.tokens, refilled_at = tenax.now()
  from unnest($1::text[], $2::double precision[]) as x (queue, tokens)
 where l.queue = x.queue
