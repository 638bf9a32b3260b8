-- Lists the definitions of a workflow ($1), at most $2: the one that its name finds comes first, then the newest.
select w.hash, w.version, w.created_at, w.stored_at
  from tenax.workflow w
 where w.name = $1::text
 order by w.stored_at desc nulls last, w.id desc
 limit $2::integer
