-- The fleet: the health of workers, who leads, fairness between executions, limits, quarantine.

alter table tenax.execution add column lane bigint not null default 0;

alter table tenax.item
    add column lane bigint not null default 0,
    add column suspect boolean not null default false,
    add column action_gate text,
    add column action_most integer,
    add column key_gate text,
    add column key_most integer,
    add column blocked boolean not null default false;
alter table tenax.item drop column leasable;
alter table tenax.item
    add column leasable boolean generated always as
        (placed and not paused and not blocked and state in ('queued', 'retrying')) stored,
    add column common boolean generated always as
        (lane = 0 and not suspect and refused_by is null and action_gate is null and key_gate is null) stored;
create index item_ready on tenax.item (queue, priority, available_at) where leasable and common;
create index item_special on tenax.item (queue, priority, lane, available_at) where leasable and not common;
create index item_held on tenax.item (timeout_at) where state = 'held';
create index item_action_gate on tenax.item (action_gate)
    where action_gate is not null and state in ('leased', 'accepted');
create index item_key_gate on tenax.item (key_gate) where key_gate is not null and state in ('leased', 'accepted');
create index item_blocked_action on tenax.item (action_gate, available_at) where blocked and action_gate is not null;
create index item_blocked_key on tenax.item (key_gate, available_at) where blocked and key_gate is not null;
create index item_labelled on tenax.item (id) where labels is not null;
create index item_suspect on tenax.item (worker) where suspect and state = 'leased';

alter table tenax.worker
    add column life uuid,
    add column health text not null default 'healthy' check (health in ('healthy', 'degraded', 'unhealthy')),
    add column health_column text,
    add column health_since timestamptz,
    add column reported jsonb,
    add column reported_at timestamptz,
    add column streak integer not null default 0,
    add column last_success_at timestamptz,
    add column last_failure_at timestamptz,
    add column runs bigint not null default 0,
    add column failures bigint not null default 0,
    add column probe_at timestamptz,
    add column probed_at timestamptz,
    add column recovering_since timestamptz,
    add column wanted text not null default 'active' check (wanted in ('active', 'paused', 'draining')),
    add column state_reason text,
    add column state_actor text,
    add column state_since timestamptz,
    add column serves bigint;

create table tenax.worker_window (
    worker   text not null,
    bucket   timestamptz not null,
    runs     integer not null,
    failures integer not null,
    primary key (worker, bucket)
);

create table tenax.worker_loss (
    worker text not null,
    ended  timestamptz not null,
    at     timestamptz not null,
    items  bigint[] not null,
    primary key (worker, ended)
);

create table tenax.queue_limit (
    queue       text primary key,
    concurrency integer check (concurrency > 0),
    rate        double precision check (rate > 0),
    burst       integer check (burst > 0),
    tokens      double precision not null default 0,
    refilled_at timestamptz not null,
    check ((rate is null) = (burst is null))
);

alter table tenax.service
    add column leader uuid,
    add column leader_until timestamptz;
