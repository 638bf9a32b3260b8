update tenax.queue_limit l
   set tokens = x.tokens, refilled_at = x.at
  from unnest($1::text[], $2::double precision[], $3::timestamptz[]) as x (queue, tokens, at)
 where l.queue = x.queue
