update tenax.worker
   set state = case when state = 'gone' then state else $2::text end, wanted = $2, state_reason = $3::text,
       state_actor = $4::text, state_since = tenax.now()
 where name = $1::text
