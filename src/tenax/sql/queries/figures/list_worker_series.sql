-- Counts the attempts that started and failed on each of the workers $4 (null: on all) from $1 to $2 in spans of $3 seconds.
select worker, date_bin(make_interval(secs => $3::double precision), minute, 'epoch') as at,
       sum(started)::bigint as started, sum(failed)::bigint as failed, sum(retries)::bigint as retries
  from tenax.worker_minute
 where minute >= $1::timestamptz and minute < $2::timestamptz and ($4::text[] is null or worker = any($4))
 group by 1, 2
