-- What the leader counts of the log, by minute and in all, and how far it has counted.

-- Finds the rows of a few transactions. Summaries of whole ranges of pages cost the writers of the log nothing.
create index log_xid on tenax.log using brin ((xid::text::bigint));

create table tenax.roll_up (
    one        boolean primary key default true check (one),
    -- Every transaction with a smaller number is counted, except those in `open`.
    counted    bigint not null default 0,
    -- Transactions with smaller numbers that had not ended when they were looked at.
    open       bigint[] not null default '{}',
    -- Rows of the log up to this id were written in another cluster, before a restore. They are not counted again.
    floor      bigint not null default 0,
    -- The log is counted up to about this time.
    counted_at timestamptz
);
insert into tenax.roll_up default values;

create table tenax.attempt_minute (
    minute       timestamptz not null,
    workflow     text not null,
    step         text not null,
    outcome      text not null check (outcome in
                 ('succeeded', 'failed', 'not_completed', 'snoozed', 'polled', 'lost', 'expired', 'released')),
    -- Of the failure. Empty if there was none.
    class        text not null,
    reason       text not null,
    -- The number of the attempt. The last number stands for all higher ones.
    attempt      smallint not null,
    -- Of the failure that this attempt retried. Empty if it was no retry.
    after_class  text not null,
    after_reason text not null,
    n            bigint not null,
    seconds      double precision not null,
    -- Seconds of delay before these retries.
    waited       double precision not null,
    primary key (minute, workflow, step, outcome, class, reason, attempt, after_class, after_reason)
);

create table tenax.worker_minute (
    minute    timestamptz not null,
    worker    text not null,
    started   bigint not null,
    retries   bigint not null,
    failed    bigint not null,
    -- Retries that succeeded.
    recovered bigint not null,
    primary key (minute, worker)
);

create table tenax.event_minute (
    minute   timestamptz not null,
    workflow text not null,
    kind     text not null check (kind in
             ('execution_started', 'execution_completed', 'execution_failed', 'execution_cancelled',
              'first_attempt', 'retry', 'late_result')),
    n        bigint not null,
    primary key (minute, workflow, kind)
);

create table tenax.lateness_minute (
    minute  timestamptz not null,
    -- The index of the bucket's upper bound; the last bucket has none.
    bucket  smallint not null,
    n       bigint not null,
    seconds double precision not null,
    primary key (minute, bucket)
);

-- The same counts since the log began. They only grow, whatever becomes of the minutes.
create table tenax.metric_total (
    metric text not null,
    labels text[] not null,
    n      double precision not null,
    primary key (metric, labels)
);

-- The values of labels that have a series of their own.
create table tenax.metric_label (
    label text not null,
    value text not null,
    primary key (label, value)
);

-- The failures that are being retried: the end of the retry is counted under them.
create table tenax.retry_underway (
    execution_id bigint not null,
    step         text not null,
    -- -1: it belongs to no fan-out.
    item_no      integer not null,
    compensates  boolean not null,
    -- The number of the attempt that failed.
    attempt      integer not null,
    class        text not null,
    reason       text not null,
    delay        double precision not null,
    -- Null once the retry has started.
    due          timestamptz,
    worker       text,
    at           timestamptz not null,
    primary key (execution_id, step, item_no, compensates)
);
create index retry_underway_at on tenax.retry_underway (at);
