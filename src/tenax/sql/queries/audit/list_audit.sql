-- Lists what people did, the newest first, before the entry $1.
select a.id, a.at, a.actor, a.action, a.kind, a.target, a.step, a.item_no, a.reason, a.data
  from tenax.audit a
 where ($1::bigint is null or a.id < $1)
   and ($2::text is null or a.actor = $2) and ($3::text is null or a.action = $3)
   and ($4::text is null or a.kind = $4) and ($5::text is null or a.target = $5)
   and ($6::timestamptz is null or a.at >= $6) and ($7::timestamptz is null or a.at < $7)
 order by a.id desc
 limit $8::integer
