-- What running attempts tell: checkpoints for the next attempt, progress, and output.
-- The last checkpoint of a work item. It outlives the item, so that a manual retry goes on from it. `item_no` is -1 if the step
-- has no fan-out. Of two writes, the one with the higher attempt and number stays.
create table tenax.checkpoint (
    execution_id bigint not null,
    step         text not null,
    item_no      integer not null,
    compensates  boolean not null,
    attempt      integer not null,
    number       integer not null,
    value        text not null,
    at           timestamptz not null,
    primary key (execution_id, step, item_no, compensates)
);

-- The last progress of running attempts. A row counts only while its lease is valid.
create table tenax.attempt_progress (
    item_id      bigint primary key,
    lease_token  uuid not null,
    execution_id bigint not null,
    fraction     double precision,
    message      text,
    at           timestamptz not null
);
create index attempt_progress_execution on tenax.attempt_progress (execution_id);

-- What attempts have printed, in parts. `start` and `size` are bytes of the whole output of the attempt. A part that is missing
-- between two others was cut. Ids rise with the commits of an execution, because its writers lock it.
create table tenax.output (
    execution_id bigint not null,
    id           bigint generated always as identity,
    step         text not null,
    item_no      integer not null,
    compensates  boolean not null,
    attempt      integer not null,
    start        bigint not null,
    size         integer not null,
    text         text not null,
    at           timestamptz not null,
    primary key (execution_id, id)
);
create unique index output_attempt on tenax.output (execution_id, step, item_no, compensates, attempt, start);
