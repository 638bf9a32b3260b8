insert into tenax.event_minute as t (minute, workflow, kind, n)
select to_timestamp(x.minute), x.workflow, x.kind, x.n
  from unnest($1::text::bigint[], $2::text[], $3::text[], $4::text::bigint[]) as x (minute, workflow, kind, n)
    on conflict (minute, workflow, kind) do update set n = t.n + excluded.n
