-- Records what a schedule did. Of its runs before, the newest $8 are kept.
with forgotten as (
    delete from tenax.schedule_run
     where schedule = $1::text
       and id <= (select r.id from tenax.schedule_run r where r.schedule = $1::text order by r.id desc offset $8::integer limit 1)
)
insert into tenax.schedule_run (schedule, kind, tick, until, reason, note, execution_id)
select $1::text, x.kind, x.tick, x.until, x.reason, x.note, x.execution_id
  from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[])
       with ordinality as x (kind, tick, until, reason, note, execution_id, place)
 order by x.place
