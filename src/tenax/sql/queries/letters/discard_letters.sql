-- Discards those of these letters that are open. Their executions are locked.
update tenax.dead_letter l
   set status = 'discarded', note = $2::text, actor = $3::text, changed_at = $4::timestamptz
 where l.item_id = any($1::bigint[]) and l.status = 'open'
returning l.item_id, l.execution_id, l.step, l.item_no, l.compensates
