insert into tenax.audit (actor, action, kind, target, step, item_no, reason, data)
select x.actor, x.action, x.kind, x.target, x.step, x.item_no, x.reason, x.data
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::integer[], $7::text[], $8::text[]::jsonb[])
       as x (actor, action, kind, target, step, item_no, reason, data)
