insert into tenax.attempt_minute as t
       (minute, workflow, step, outcome, class, reason, attempt, after_class, after_reason, n, seconds, waited, retried, given_up)
select to_timestamp(x.minute), x.workflow, x.step, x.outcome, x.class, x.reason, x.attempt, x.after_class, x.after_reason,
       x.n, x.seconds, x.waited, x.retried, x.given_up
  from unnest($1::text::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text::smallint[], $8::text[],
              $9::text[], $10::text::bigint[], $11::text::double precision[], $12::text::double precision[],
              $13::text::bigint[], $14::text::bigint[])
    as x (minute, workflow, step, outcome, class, reason, attempt, after_class, after_reason, n, seconds, waited, retried, given_up)
    on conflict (minute, workflow, step, outcome, class, reason, attempt, after_class, after_reason) do update
   set n = t.n + excluded.n, seconds = t.seconds + excluded.seconds, waited = t.waited + excluded.waited,
       retried = t.retried + excluded.retried, given_up = t.given_up + excluded.given_up
