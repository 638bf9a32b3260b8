insert into tenax.lateness_minute as t (minute, bucket, n, seconds)
select to_timestamp(x.minute), x.bucket, x.n, x.seconds
  from unnest($1::text::bigint[], $2::text::smallint[], $3::text::bigint[], $4::text::double precision[])
    as x (minute, bucket, n, seconds)
    on conflict (minute, bucket) do update set n = t.n + excluded.n, seconds = t.seconds + excluded.seconds
