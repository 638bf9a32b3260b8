select bucket, sum(n)::bigint as n
  from tenax.lateness_minute
 where minute >= date_trunc('minute', tenax.now() - make_interval(secs => $1::double precision)) and minute <= tenax.now()
 group by bucket order by bucket
