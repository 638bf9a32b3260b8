insert into tenax.metric_label (label, value) select * from unnest($1::text[], $2::text[]) on conflict do nothing
