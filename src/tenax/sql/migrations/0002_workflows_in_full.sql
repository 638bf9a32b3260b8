-- Fan-out, children, waiting, callbacks, compensations.

alter table tenax.workflow add column stored_at timestamptz;
alter table tenax.plan add column children jsonb not null default '{}';

alter table tenax.execution
    add column parent_id bigint,
    add column parent_item bigint,
    add column parent_step text,
    add column parent_item_no integer,
    add column parent_attempt integer,
    add column compensation text check (compensation in ('waiting', 'running', 'completed', 'failed', 'cancelled'));
create index execution_parent on tenax.execution (parent_id, id) where parent_id is not null;
create index execution_compensation on tenax.execution (compensation, id) where compensation is not null;

alter table tenax.step add column failures jsonb;

drop index tenax.item_ready;
alter table tenax.item
    alter column timeout drop not null,
    drop constraint item_check,
    add column compensates boolean not null default false,
    add column element jsonb,
    add column previous jsonb,
    add column vary jsonb,
    add column awaiting text,
    add column placed boolean not null default true,
    add column paused boolean not null default false,
    add column leasable boolean generated always as (placed and not paused and state in ('queued', 'retrying')) stored,
    add constraint item_lease check (
        (state = 'leased') = (lease_token is not null and lease_until is not null)
        and (state <> 'leased' or timeout_at is not null)
    );
create index item_ready on tenax.item (queue, priority, available_at) where leasable;
create index item_accepted on tenax.item (expires_at) where state = 'accepted';
create index item_waiting on tenax.item (execution_id, step, id) where state = 'waiting' and not compensates;
create index item_undo on tenax.item (execution_id, id) where state = 'waiting' and compensates;
create index item_unplaced on tenax.item (execution_id, step, available_at) where state = 'retrying' and not placed;

create table tenax.fan (
    execution_id bigint not null,
    step         text not null,
    total        integer not null,
    ended        integer not null default 0,
    failed       integer not null default 0,
    attempts     bigint not null default 0,
    tolerated    integer not null,
    parallelism  integer,
    placed       integer not null,
    closed       boolean not null default false,
    primary key (execution_id, step)
) with (fillfactor = 50);
create index fan_open on tenax.fan (execution_id) where not closed and placed < parallelism;

create table tenax.item_result (
    execution_id bigint not null,
    step         text not null,
    item_no      integer not null,
    state        text not null check (state in ('succeeded', 'failed')),
    attempts     integer not null,
    result       jsonb,
    failure      jsonb,
    element      jsonb,
    primary key (execution_id, step, item_no)
);

create table tenax.signal (
    id           bigint generated always as identity primary key,
    execution_id bigint not null,
    name         text not null,
    data         jsonb,
    actor        text not null,
    key          text,
    created_at   timestamptz not null,
    taken_by     bigint
);
create unique index signal_key on tenax.signal (execution_id, key) where key is not null;
create index signal_free on tenax.signal (execution_id, name, id) where taken_by is null;

create table tenax.inbox (
    id           bigint generated always as identity primary key,
    execution_id bigint not null,
    kind         text not null check (kind in ('child_ended', 'cancel')),
    body         jsonb not null,
    created_at   timestamptz not null
);
