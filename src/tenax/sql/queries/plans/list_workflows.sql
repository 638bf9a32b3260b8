-- Lists the definitions that were stored, or those of one name. Of each name, the one that the name finds comes first. Of a
-- paused workflow that was never stored, the newest definition is listed.
select w.name, w.version, w.hash, w.stored_at as created_at, wp.actor as paused_by, wp.reason as paused_why
  from tenax.workflow w
  left join tenax.workflow_pause wp on wp.workflow = w.name and wp.resumed_by is null
 where ($1::text is null or w.name = $1)
   and (w.stored_at is not null
        or w.id in (select max(o.id) from tenax.workflow_pause op join tenax.workflow o on o.name = op.workflow
                     where op.resumed_by is null group by o.name having max(o.stored_at) is null))
 order by name, stored_at desc, w.id desc
 limit 1000
