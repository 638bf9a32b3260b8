-- Closes items that were not acted on, with their reasons.
update tenax.bulk_item b
   set state = $2, note = x.note
  from unnest($3::integer[], $4::text[]) as x (n, note)
 where b.job_id = $1 and b.n = x.n and b.state = 'pending'
