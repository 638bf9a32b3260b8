-- Counts the retries that started from $1 to $2 in spans of $3 seconds, by the bucket of their lateness.
select date_bin(make_interval(secs => $3::double precision), minute, 'epoch') as at, bucket, sum(n)::bigint as n
  from tenax.lateness_minute
 where minute >= $1::timestamptz and minute < $2::timestamptz
 group by 1, 2
