insert into tenax.worker_minute as t (minute, worker, started, retries, failed, recovered, seconds, waited)
select to_timestamp(x.minute), x.worker, x.started, x.retries, x.failed, x.recovered, x.seconds, x.waited
  from unnest($1::text::bigint[], $2::text[], $3::text::bigint[], $4::text::bigint[], $5::text::bigint[], $6::text::bigint[],
              $7::text::double precision[], $8::text::double precision[])
    as x (minute, worker, started, retries, failed, recovered, seconds, waited)
    on conflict (minute, worker) do update
   set started = t.started + excluded.started, retries = t.retries + excluded.retries, failed = t.failed + excluded.failed,
       recovered = t.recovered + excluded.recovered, seconds = t.seconds + excluded.seconds, waited = t.waited + excluded.waited
