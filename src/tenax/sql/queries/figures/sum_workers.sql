select worker as name, sum(started)::bigint as started, sum(retries)::bigint as n, sum(failed)::bigint as failures,
       sum(recovered)::bigint as succeeded, sum(seconds) as seconds, sum(waited) as waited
  from tenax.worker_minute
 where minute >= date_trunc('minute', $1::timestamptz) and minute < $2::timestamptz
 group by worker
 order by worker
