-- Filters saved by name, bulk jobs with the executions that they act on, and indexes for filters.
create index execution_unsuccessful on tenax.execution (id) where state in ('failed', 'cancelled');
create index execution_created on tenax.execution using brin (created_at) with (pages_per_range = 32, autosummarize = on);

create table tenax.saved_filter (
    name     text primary key,
    filter   text not null,
    actor    text not null,
    saved_at timestamptz not null
);

create table tenax.bulk_job (
    id            bigint generated always as identity primary key,
    action        text not null,
    -- The filter with the terms of saved filters and with fixed times, as it was when its executions were found.
    filter        text not null,
    reason        text not null,
    -- Who made it. The actor of its actions is who started or resumed it last (`started_by`).
    actor         text not null,
    state         text not null default 'preview' check (state in ('preview', 'running', 'stopped', 'completed')),
    -- Why it stopped.
    note          text,
    -- Executions acted on in a second. Null: as fast as it goes.
    rate          double precision check (rate > 0),
    -- The number of executions that it acts on first, and the percentage of them that may fail.
    canary        integer check (canary > 0),
    max_failed    double precision check (max_failed between 0 and 100),
    -- open: its executions have not all ended yet. failed: too many failed, and a person must decide.
    canary_state  text check (canary_state in ('open', 'passed', 'failed', 'overruled')),
    total         integer not null,
    created_at    timestamptz not null,
    started_at    timestamptz,
    started_by    text,
    finished_at   timestamptz,
    -- When the rate allows the next action.
    due_at        timestamptz,
    check ((canary is null) = (max_failed is null) and (canary is null) = (canary_state is null))
);
create index bulk_job_running on tenax.bulk_job (id) where state = 'running';

create table tenax.bulk_item (
    job_id       bigint not null references tenax.bulk_job (id) on delete cascade,
    n            integer not null,
    execution_id bigint not null,
    state        text not null default 'pending' check (state in ('pending', 'done', 'skipped', 'failed')),
    -- Why it was skipped, or what went wrong.
    note         text,
    acted_at     timestamptz,
    primary key (job_id, n)
) with (fillfactor = 70);
create index bulk_item_pending on tenax.bulk_item (job_id, n) where state = 'pending';
