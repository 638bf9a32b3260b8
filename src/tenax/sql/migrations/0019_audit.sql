-- What people did, in a table of its own: to find it in the log would mean to read the log. It begins empty. The log has
-- the actions on executions, workers, queues and workflows from before.
create table tenax.audit (
    id      bigint generated always as identity primary key,
    at      timestamptz not null default tenax.now(),
    actor   text not null,
    action  text not null,
    kind    text not null constraint audit_kind check (kind in
            ('execution', 'dead_letters', 'worker', 'queue', 'workflow', 'pack', 'bulk', 'token', 'filter')),
    -- The id of the execution or the bulk job, or the name. Null: several dead letters.
    target  text,
    step    text,
    item_no integer,
    reason  text,
    -- What else belongs to the action, such as the new limits of a queue.
    data    jsonb,
    constraint audit_target check (target is not null or kind = 'dead_letters')
);
create index audit_at on tenax.audit (at);
create index audit_actor on tenax.audit (actor, id);
create index audit_action on tenax.audit (action, id);
create index audit_target on tenax.audit (kind, target, id);
