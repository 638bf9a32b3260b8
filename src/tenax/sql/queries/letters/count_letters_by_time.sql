-- Counts the letters with one of the statuses $1 and one of the fingerprints $2 by the time of their last failure: from $3
-- on, in spans of $4 seconds.
select l.fingerprint, floor(extract(epoch from l.last_at - $3::timestamptz) / $4::double precision)::integer as span, count(*)::integer as n
  from tenax.dead_letter l
 where l.fingerprint = any($2::text[]) and l.status = any($1::text[]) and l.last_at >= $3::timestamptz
 group by 1, 2
