l.item_id as id, l.execution_id, l.workflow, l.step, l.item_no as item, l.compensates as compensation, l.status, l.tolerated,
       l.rule, l.class as failure_class, l.reason, l.message, l.fingerprint, l.attempts, l.failed_times, l.first_at, l.last_at,
       l.changed_at, l.note, l.actor
