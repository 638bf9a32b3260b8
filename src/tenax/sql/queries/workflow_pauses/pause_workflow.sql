-- Pauses a workflow. Returns nothing if it is paused already.
insert into tenax.workflow_pause as old (workflow, actor, reason, paused_at)
values ($1::text, $2::text, $3::text, tenax.now())
    on conflict (workflow) do update
   set actor = excluded.actor, reason = excluded.reason, paused_at = excluded.paused_at, resumed_by = null, resumed_why = null
 where old.resumed_by is not null
returning workflow
