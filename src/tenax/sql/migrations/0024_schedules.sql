-- Executions that start by themselves, and executions that start later than they were submitted.
create table tenax.schedule (
    name       text primary key,
    -- The stored workflow that it starts, by its name or NAME@VERSION.
    workflow   text not null,
    -- When it starts, and what happens to late and overlapping ticks: the canonical form of a file's `schedule`.
    spec       jsonb not null,
    -- True if the file of the workflow declares it. The schedule then has the name of the workflow.
    declared   boolean not null,
    created_at timestamptz not null default tenax.now(),
    -- The first tick that was not dealt with yet. Null: there is none any more.
    next_tick  timestamptz,
    -- When it is looked at next: at the next tick with its jitter, or sooner while a tick waits. Null: it is paused or over.
    look_at    timestamptz,
    -- The ticks that wait for the end of the last execution: [[time, origin], ...].
    waiting    jsonb not null default '[]',
    last_execution bigint,
    -- Failures in a row are counted among the runs after this one.
    counted_from   bigint not null default 0,
    paused_by  text,
    paused_why text,
    paused_at  timestamptz,
    constraint schedule_paused check ((paused_by is null) = (paused_at is null)),
    constraint schedule_rests check (paused_at is null or look_at is null)
);
create index schedule_look on tenax.schedule (look_at) where look_at is not null;

-- What each schedule did: its newest runs.
create table tenax.schedule_run (
    id         bigint generated always as identity primary key,
    schedule   text not null references tenax.schedule (name) on delete cascade,
    at         timestamptz not null default tenax.now(),
    kind       text not null constraint schedule_run_kind check (kind in ('started', 'skipped', 'failed', 'paused')),
    -- The tick, or the first of several that were skipped together. Null: a person started it, or the schedule paused itself.
    tick       timestamptz,
    -- The last of several ticks.
    until      timestamptz,
    -- Why it started (tick, caught_up, queued, by_hand), or why it was skipped.
    reason     text,
    -- The error of a start that failed, or the person who asked for it.
    note       text,
    execution_id bigint
);
create index schedule_run_newest on tenax.schedule_run (schedule, id);

-- The executions that were submitted and have not started. They are paused until then.
create table tenax.delayed_start (
    execution_id bigint primary key references tenax.execution (id) on delete cascade,
    start_at     timestamptz not null
);
create index delayed_start_at on tenax.delayed_start (start_at);

alter table tenax.audit drop constraint audit_kind;
alter table tenax.audit add constraint audit_kind check (kind in
    ('execution', 'dead_letters', 'worker', 'queue', 'workflow', 'pack', 'bulk', 'token', 'filter', 'schedule'));
