insert into tenax.metric_total as t (metric, labels, n)
select x.metric, array(select jsonb_array_elements_text(x.labels::jsonb)), x.n
  from unnest($1::text[], $2::text[], $3::text::double precision[]) as x (metric, labels, n)
    on conflict (metric, labels) do update set n = t.n + excluded.n
