-- The current schema of Tenax. The migrations produce it; a test compares the two.
--
--   workflow   a definition, stored once for each content   (hash of the canonical form)
--   policy     a resolved retry policy, stored once for each content
--   plan       a workflow with the policies of its steps    (executions refer to it, so a later default changes nothing)
--   execution  one run of a plan
--   step       the end of a step of a graph of several steps, or the number of steps that it still waits for
--   item       the live work items: waiting, queued, leased, accepted, retrying, held. Ended items are deleted
--   fan        a step with `for_each`: the numbers of its items, of the ended ones, and of those that have a slot
--   item_result  the end of each item of a fan-out
--   signal     data sent to an execution, and the item that took it
--   inbox      messages to deliver to an execution: a child has ended, a child must be cancelled
--   log        the events, several to a row if one transition made them: the source of truth
--   worker     the workers that lease and run items, with their health
--   worker_window  the results of attempts on a worker, in short spans of time
--   worker_loss    the times at which a worker fell silent or restarted while it held work, and its items then
--   queue_limit    how many items of a queue may run at once, and may start in a second
--   saved_filter  filters that people saved by name
--   bulk_job   the bulk jobs: an action, the filter that chose its executions, and how far the job is
--   bulk_item  the executions of each bulk job, as they were found, and what became of each
--   token      the tokens that authorize callers
--   service    one row: when a server was last alive, which one leads, and the secret that signs receipts
--
-- One job: submit inserts execution + item + log; lease updates item + inserts log; report deletes item, updates
-- execution, inserts log. Locks are taken in this order: execution by id, then item by id.

create schema tenax;

-- The only clock. Tests replace this function.
create function tenax.now() returns timestamptz
    language sql stable parallel safe
    as $$ select statement_timestamp() $$;
-- The same clock read at this moment, for a time that must not be earlier than the locks held.
create function tenax.clock() returns timestamptz
    language sql volatile parallel safe
    as $$ select clock_timestamp() $$;

create sequence tenax.execution_id;
create sequence tenax.item_id;
-- Each row of the log has room for 32 event ids.
create sequence tenax.event_id increment by 32 start with 32;

create table tenax.workflow (
    id         bigint generated always as identity primary key,
    hash       text not null unique,
    name       text not null,
    version    text,
    body       jsonb not null,
    created_at timestamptz not null default tenax.now(),
    -- When it was last stored under its name, so that others find it by name. Null if it was only submitted.
    stored_at  timestamptz
);
create index workflow_name on tenax.workflow (name, id desc);

create table tenax.policy (
    hash       text primary key,
    body       jsonb not null,
    created_at timestamptz not null default tenax.now()
);

create table tenax.plan (
    id          bigint generated always as identity primary key,
    hash        text not null unique,
    workflow_id bigint not null references tenax.workflow (id),
    policies    jsonb not null,
    created_at  timestamptz not null default tenax.now(),
    -- The plan of each step's child, as it was resolved then: {step: {plan_id, hash, folder}}.
    children    jsonb not null default '{}'
);
create index plan_workflow on tenax.plan (workflow_id);

create table tenax.execution (
    id                 bigint primary key default nextval('tenax.execution_id'),
    plan_id            bigint not null,
    state              text not null default 'running'
                       check (state in ('running', 'paused', 'completed', 'failed', 'cancelled')),
    open_steps         integer not null default 1 check (open_steps >= 0),
    submit_key         text,
    input              jsonb,
    result             jsonb,
    failure            jsonb,
    base_dir           text,
    retry_of           bigint,
    original_execution bigint,
    created_at         timestamptz not null,
    deadline_at        timestamptz,
    finished_at        timestamptz,
    deactivated_at     timestamptz,
    -- The step, item and attempt of the parent that started this child.
    parent_id          bigint,
    parent_item        bigint,
    parent_step        text,
    parent_item_no     integer,
    parent_attempt     integer,
    -- State of a failed execution with compensations: it waits for running items, and then runs the compensations one
    -- by one.
    compensation       text check (compensation in ('waiting', 'running', 'completed', 'failed', 'cancelled')),
    -- The number by which its items take turns with those of other executions. 0 if it has few items.
    lane               bigint not null default 0,
    check ((finished_at is null) = (state in ('running', 'paused')))
) with (fillfactor = 85);
create unique index execution_submit_key on tenax.execution (submit_key) where submit_key is not null;
create index execution_active on tenax.execution (id) where state in ('running', 'paused');
create index execution_deadline on tenax.execution (deadline_at)
    where state in ('running', 'paused') and deadline_at is not null;
-- An attempt starts at most one child.
create unique index execution_parent on tenax.execution (parent_id, parent_step, coalesce(parent_item_no, -1), parent_attempt)
    where parent_id is not null;
create index execution_compensation on tenax.execution (compensation, id) where compensation is not null;
create index execution_unsuccessful on tenax.execution (id) where state in ('failed', 'cancelled');
create index execution_created on tenax.execution using brin (created_at) with (pages_per_range = 32, autosummarize = on);

create table tenax.step (
    execution_id bigint not null,
    step         text not null,
    state        text not null
                 check (state in ('pending', 'completed', 'failed', 'skipped', 'unreachable', 'cancelled')),
    waiting_for  integer not null default 0,
    attempts     integer not null default 0,
    result       jsonb,
    failure      jsonb,
    -- The failures of a fan-out's items, [{item, class, reason, message, attempts}].
    failures     jsonb,
    primary key (execution_id, step)
);

-- The limits of an item: how many items of the same action, and of the same key, may run at once.
create type tenax.limits as (
    action      text,
    action_most integer,
    key         text,
    key_most    integer
);

create table tenax.item (
    id           bigint primary key default nextval('tenax.item_id'),
    execution_id bigint not null,
    plan_id      bigint not null,
    step         text not null,
    -- The number of its element in the list of a fan-out.
    item_no      integer,
    -- It compensates the step.
    compensates  boolean not null default false,
    state        text not null
                 constraint item_state check (state in ('waiting', 'queued', 'leased', 'accepted', 'retrying', 'held')),
    -- Why it must not be leased, whatever its state. `slot`: its fan-out has no free slot. `pause`: its execution is
    -- paused. `limit`: at its concurrency limit when last checked; the end of another item lets it go on.
    stopped_by   text constraint item_stopped_by check (stopped_by in ('slot', 'pause', 'limit')),
    queue        text not null,
    runtime      text not null,
    priority     smallint not null,
    labels       jsonb,
    -- The number by which fan-outs take turns: the id of the execution that the fan-out began with. 0 if it belongs to
    -- none.
    lane         bigint not null default 0,
    limits       tenax.limits,
    -- The workers that have no handler for it.
    refused_by   text[],
    -- It has cost workers their lease and may be quarantined next: it does not run beside another suspect.
    suspect      boolean not null default false,
    -- `ready`: unrestricted, any able worker may have it in the order of the queue. `restricted`: ready, but its lane,
    -- its limits, a refusal or a suspicion decides which worker may have it, and when. `blocked`: it waits at a limit.
    -- `running`: it counts against its limits.
    standing     text generated always as (
        case when state in ('leased', 'accepted') then 'running'
             when state not in ('queued', 'retrying') then null
             when stopped_by is null then
                  case when lane = 0 and not suspect and refused_by is null and limits is null then 'ready' else 'restricted' end
             when stopped_by = 'limit' then 'blocked' end) stored,
    -- The earliest time at which it may be leased.
    available_at timestamptz not null,
    -- When its current state expires: its time in the queue, its lease (which no heartbeat extends beyond its
    -- timeout), its wait, its hold. Null: never.
    expires_at   timestamptz,
    -- When it was first queued.
    created_at   timestamptz not null,
    -- When its current attempt began.
    started_at   timestamptz,
    attempt      integer not null default 0,
    max_attempts integer,
    timeout      double precision,
    ledger       jsonb,
    last_error   text,
    worker       text,
    lease_grant  uuid,
    lease_token  uuid,
    -- The element of a fan-out's list.
    element      jsonb,
    -- The last result of a poll that was not done yet, or the result that a compensation undoes.
    previous     jsonb,
    -- The variation of the next attempt: {entry, override}.
    vary         jsonb,
    -- What an accepted item waits for: signal:NAME, approval, child, callback, sleep.
    awaiting     text,
    -- The folder of the workflow's file, as in its execution.
    base_dir     text,
    constraint item_lease check ((state = 'leased') = (lease_token is not null)),
    constraint item_wait check ((state = 'accepted') = (awaiting is not null)),
    constraint item_end check (expires_at is not null
                               or state not in ('leased', 'held') and coalesce(awaiting, '') not in ('sleep', 'callback')),
    constraint item_limit check (stopped_by is distinct from 'limit' or not (limits is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);
create index item_ready on tenax.item (queue, priority, state, available_at) where standing = 'ready';
create index item_restricted on tenax.item (queue, priority, lane, available_at) where standing = 'restricted';
create index item_action_limit on tenax.item (standing, ((limits).action), available_at)
    where standing in ('blocked', 'running') and (limits).action is not null;
create index item_key_limit on tenax.item (standing, ((limits).key), available_at)
    where standing in ('blocked', 'running') and (limits).key is not null;
create index item_labelled on tenax.item (id) where labels is not null;
create index item_refused on tenax.item (id) where refused_by is not null and state in ('queued', 'retrying');
create index item_suspect on tenax.item (worker) where suspect and state = 'leased';
create index item_due on tenax.item (available_at) where state = 'retrying';
create index item_expiry on tenax.item (state, expires_at) where expires_at is not null or state in ('leased', 'accepted', 'held');
create index item_without_slot on tenax.item (execution_id, step, state, available_at, id) where stopped_by = 'slot';
create index item_undo on tenax.item (execution_id, id) where state = 'waiting' and compensates;
create index item_execution on tenax.item (execution_id);

create table tenax.fan (
    execution_id bigint not null,
    step         text not null,
    total        integer not null,
    ended        integer not null default 0,
    failed       integer not null default 0,
    attempts     bigint not null default 0,
    -- Items that may fail before the step does.
    tolerated    integer not null,
    -- Items that may be under way at once. Null: every item has its slot from the start.
    parallelism  integer,
    placed       integer not null,
    -- The step has ended. Items of it may still run.
    closed       boolean not null default false,
    -- Seconds that an item with a slot may wait in the queue.
    queue_ttl    double precision,
    primary key (execution_id, step),
    foreign key (execution_id) references tenax.execution (id) on delete cascade
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
    -- Kept if a compensation may need it.
    element      jsonb,
    primary key (execution_id, step, item_no)
);

create table tenax.signal (
    id           bigint generated always as identity primary key,
    execution_id bigint not null references tenax.execution (id) on delete cascade,
    name         text not null,
    data         jsonb,
    actor        text not null,
    key          text,
    created_at   timestamptz not null,
    -- The item that waited for it.
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

create table tenax.log (
    id           bigint not null default nextval('tenax.event_id'),
    execution_id bigint,
    at           timestamptz not null,
    -- The writing transaction: a reader that resumes must not skip one that has not committed yet.
    xid          xid8 not null default pg_current_xact_id(),
    -- A list as JSON. Only readers parse it.
    events       text not null
) partition by range (at);
create index log_execution on tenax.log (execution_id, id);
create index log_id on tenax.log using brin (id);
create table tenax.log_default partition of tenax.log default
    -- Otherwise vacuum would offer free space on old pages to new rows, and spread them over the whole old log.
    with (autovacuum_vacuum_insert_threshold = -1);

-- Makes the partitions of this month and the next ones. It is idempotent, and the servers call it from time to time. A
-- new partition is attached and not made in place, so that writers of the log need not wait, and readers wait only
-- while the default partition is locked.
create function tenax.ensure_log_partitions(months integer) returns void
    language plpgsql
    as $$
declare
    month date := date_trunc('month', statement_timestamp() at time zone 'UTC')::date;
    name  text;
begin
    for n in 0..months loop
        name := 'log_' || to_char(month, 'YYYYMM');
        if to_regclass('tenax.' || name) is null then
            begin
                execute format(
                    'create table tenax.%I (like tenax.log including defaults)'
                    ' with (autovacuum_vacuum_insert_threshold = -1)', name);
                execute format(
                    'alter table tenax.log attach partition tenax.%I for values from (%L) to (%L)',
                    name, month::timestamp at time zone 'UTC', (month + interval '1 month') at time zone 'UTC');
            exception
                -- The default partition holds rows of that month already (no server ran when it began): it keeps the rest.
                when check_violation then null;
                -- Another server was quicker.
                when duplicate_table then null;
            end;
        end if;
        month := (month + interval '1 month')::date;
    end loop;
end
$$;

select tenax.ensure_log_partitions(3);

-- One row for each event.
create view tenax.event as
    select l.id + e.n - 1 as id,
           row_number() over (partition by l.execution_id order by l.id, e.n) as seq,
           e.event ->> 'type' as type,
           -- Transactions overlap: one that began earlier may have written later. No time is earlier than that of the
           -- event before.
           max(l.at) over (partition by l.execution_id order by l.id, e.n) as at,
           l.execution_id,
           e.event ->> 'step' as step,
           (e.event ->> 'item')::integer as item,
           (e.event ->> 'attempt')::integer as attempt,
           coalesce(e.event -> 'data', '{}'::jsonb) as data,
           l.xid
      from tenax.log l
     cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n);

create table tenax.worker (
    name           text primary key,
    state          text not null check (state in ('active', 'draining', 'paused', 'gone')),
    version        text,
    runtimes       text[] not null,
    queues         text[] not null,
    labels         jsonb not null default '{}',
    slots          integer not null,
    registered_at  timestamptz not null,
    last_heartbeat timestamptz not null,
    -- One start of the worker's process. Messages of an earlier life are answered, but it gets no work.
    life           uuid,
    health         text not null default 'healthy' check (health in ('healthy', 'degraded', 'unhealthy')),
    -- The column that decided on the health: heartbeat_age, consecutive_failures, queue_depth, failure_rate,
    -- reported_status, recovering.
    health_column  text,
    health_since   timestamptz,
    -- The worker's own report, sent with its heartbeats.
    reported       jsonb,
    reported_at    timestamptz,
    -- Failed attempts in a row for which the worker counts as responsible. Lost attempts are in worker_loss.
    streak         integer not null default 0,
    last_success_at timestamptz,
    last_failure_at timestamptz,
    -- Attempts that ended on it since it was first known, and those whose failure counts against it.
    runs           bigint not null default 0,
    failures       bigint not null default 0,
    -- When an unhealthy worker may be given its probe. Null if it has it, or needs none.
    probe_at       timestamptz,
    -- When it was last given a probe.
    probed_at      timestamptz,
    -- It recovered by a probe, and is degraded for a while.
    recovering_since timestamptz,
    -- Requested state; survives restarts of the worker.
    wanted         text not null default 'active' check (wanted in ('active', 'paused', 'draining')),
    -- The reason, the actor and the time of the last pause or drain. `tenax:server`: the server itself.
    state_reason   text,
    state_actor    text,
    state_since    timestamptz,
    -- The only execution that it serves, with its children (`tenax run`), whatever queue and labels they ask for.
    serves         bigint,
    -- The token that it registered with. The name belongs to that token while it is valid. Null if the name is free.
    token_id       bigint,
    -- Version of the worker's protocol. Workers of version 1 do not send it.
    protocol       integer not null default 1
);

create table tenax.worker_window (
    worker   text not null,
    bucket   timestamptz not null,
    runs     integer not null,
    failures integer not null,
    primary key (worker, bucket)
);

create table tenax.worker_loss (
    worker text not null,
    -- The last heartbeat before the loss, or the start of the next life: one row for each time.
    ended  timestamptz not null,
    -- -infinity: the worker was pardoned.
    at     timestamptz not null,
    items  bigint[] not null,
    primary key (worker, ended)
);

create table tenax.queue_limit (
    queue       text primary key,
    concurrency integer check (concurrency > 0),
    -- Starts in a second, and the number of starts at once after a pause.
    rate        double precision check (rate > 0),
    burst       integer check (burst > 0),
    tokens      double precision not null default 0,
    refilled_at timestamptz not null,
    check ((rate is null) = (burst is null))
);

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
    -- The new execution that the action made. Its end counts for the canary.
    made         bigint,
    primary key (job_id, n)
) with (fillfactor = 70);
create index bulk_item_pending on tenax.bulk_item (job_id, n) where state = 'pending';

create table tenax.token (
    id         bigint generated always as identity primary key,
    name       text not null,
    role       text not null check (role in ('admin', 'operator', 'worker', 'viewer')),
    hash       bytea not null unique,
    created_at timestamptz not null default tenax.now(),
    revoked_at timestamptz
);

create table tenax.service (
    one        boolean primary key default true check (one),
    alive_at   timestamptz,
    reap_after timestamptz,
    secret     bytea not null,
    -- The server that looks after the fleet until then.
    leader       uuid,
    leader_until timestamptz,
    -- Servers written for an older schema than this stop. A migration that they cannot work with raises it to its own
    -- number. This column and its table keep their names and their meaning for ever: every server reads them, however
    -- old it is.
    oldest_schema integer not null default 8
);
insert into tenax.service (secret)
    values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));
