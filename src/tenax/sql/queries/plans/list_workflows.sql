-- Lists the definitions that were stored, or those of one name. Of each name, the one that the name finds comes first.
select w.name, w.version, w.hash, w.stored_at as created_at, wp.actor as paused_by, wp.reason as paused_why
  from tenax.workflow w
  left join tenax.workflow_pause wp on wp.workflow = w.name and wp.resumed_by is null
 where stored_at is not null and ($1::text is null or name = $1)
 order by name, stored_at desc, id desc
 limit 1000
