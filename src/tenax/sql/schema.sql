-- The current schema of Tenax. The migrations produce it; a test compares the two.
--
--   workflow   a definition, stored once for each content   (hash of the canonical form)
--   policy     a resolved retry policy, stored once for each content
--   plan       a workflow with the policies of its steps    (executions refer to it, so a later default changes nothing)
--   execution  one run of a plan
--   step       the end of a step of a graph of several steps, or the number of steps that it still waits for
--   item       the live work items: waiting, queued, leased, accepted, retrying, held. Ended items are deleted
--   budget     the budget of a tree of executions, and what each execution of it has used
--   reservation  what is reserved for attempts in flight; attempt_usage: the usage that running attempts have reported
--   checkpoint  the last checkpoint of an item; attempt_progress, output: what running attempts tell, and what attempts print
--   fan        a step with `for_each`: the numbers of its items, of the ended ones, and of those that have a slot
--   item_result  the end of each item of a fan-out
--   dead_letter  the items that have failed for good or are quarantined, one row for each, also after they recovered
--   signal     data sent to an execution, and the item that took it
--   inbox      messages to deliver to an execution: a child has ended, a child must be cancelled
--   requested_submission  submissions by applications in their own transactions, until a server starts them;
--              rejected_submission: those that could not be started
--   attempt_result  results that tasks committed together with their own writes, until the attempt ends
--   log        the events, several to a row if one transition made them: the source of truth
--   worker     the workers that lease and run items, with their health
--   worker_window  the results of attempts on a worker, in short spans of time
--   worker_loss    the times at which a worker fell silent or restarted while it held work, and its items then
--   queue_limit    how many items of a queue may run at once, and may start in a second; the pause of a queue
--   workflow_pause  the workflows that are paused; workflow_paused: the executions that were paused with them
--   schedule   when executions start by themselves; schedule_run: what each schedule did
--   delayed_start  the executions that were submitted to start later
--   saved_filter  filters that people saved by name
--   bulk_job   the bulk jobs: an action, the filter that chose its executions, and how far the job is
--   bulk_item  the executions of each bulk job, as they were found, and what became of each
--   token      the tokens that authorize callers
--   audit      what people did, to what, when and why
--   roll_up    the position up to which the leader has counted the log; *_minute, metric_total: the counts
--   retry_underway  the failures that are being retried, for the counts
--   service    one row: when a server was last alive, which one leads, and the secret that signs receipts
--
-- Operators read the views of the schema `ops`, at the end.
--
-- One job: submit inserts execution + item + log; lease updates item + inserts log; report deletes item, updates
-- execution, inserts log. Locks are taken in this order: execution by id, then item by id.

create schema tenax;

-- The only clock of Tenax. Tests replace this function.
create function tenax.now() returns timestamptz
    language sql stable parallel safe
    as $$ select statement_timestamp() $$;
-- Reads the same clock at this moment, for a time that must not be earlier than the locks held.
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
    -- When the definition was last stored under its name, so that others find it by name. Null if it was only
    -- submitted.
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
    children    jsonb not null default '{}',
    -- The actions of packs that its steps run, as they were when it was made. Null: none.
    actions     jsonb,
    -- The contents of packs that it and its children use. Null: none.
    packs       text[]
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
    -- True if it belongs to a tree with a budget.
    budgeted           boolean not null default false,
    check ((finished_at is null) = (state in ('running', 'paused')))
) with (fillfactor = 85);
create unique index execution_submit_key on tenax.execution (submit_key) where submit_key is not null;
create index execution_active on tenax.execution (id) where state in ('running', 'paused');
create index execution_budgeted on tenax.execution (id) where budgeted and state in ('running', 'paused');
create index execution_deadline on tenax.execution (deadline_at)
    where state in ('running', 'paused') and deadline_at is not null;
-- An attempt starts at most one child.
create unique index execution_parent on tenax.execution (parent_id, parent_step, coalesce(parent_item_no, -1), parent_attempt)
    where parent_id is not null;
create index execution_retry on tenax.execution (retry_of) where retry_of is not null;
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
    -- Each attempt writes two new versions of the row. Room on the pages of this index and of `item_execution` takes their
    -- entries in. Full pages would be searched for old versions all the time.
    id           bigint default nextval('tenax.item_id') primary key with (fillfactor = 30),
    execution_id bigint not null,
    plan_id      bigint not null,
    step         text not null,
    -- The number of its element in the list of a fan-out.
    item_no      integer,
    -- True if the item compensates the step.
    compensates  boolean not null default false,
    state        text not null
                 constraint item_state check (state in ('waiting', 'queued', 'leased', 'accepted', 'retrying', 'held')),
    -- Why it must not be leased, whatever its state. `slot`: its fan-out has no free slot. `pause`: its execution is
    -- paused. `limit`: it was at its concurrency limit when last checked. The end of another item unblocks it.
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
    -- True if it has cost workers their lease and may be quarantined next. It does not run beside another suspect.
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
    -- The retry policy that an operator gave it. Null: that of its plan.
    policy       jsonb,
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
create index item_unpaid on tenax.item (execution_id, id) where queue = 'tenax:budget';
create index item_execution on tenax.item (execution_id) with (fillfactor = 30);

-- The budgets of trees of executions. Each execution of such a tree has a row.
create table tenax.budget (
    execution_id   bigint primary key references tenax.execution (id) on delete cascade,
    -- The executions of the tree from its root down to this one, which is the last.
    path           bigint[] not null,
    workflow       text not null,
    -- The limits of the tree below this execution, itself included. Null: it has none of its own.
    cost_usd       double precision,
    tokens         bigint,
    -- What the ended attempts of this execution have used, and those of its tree.
    own_usd        double precision not null default 0,
    own_tokens     bigint not null default 0,
    spent_usd      double precision not null default 0,
    spent_tokens   bigint not null default 0,
    -- The highest use of one attempt in the tree of a root, by step: {"workflow/step": [cost, tokens]}.
    highest        jsonb not null default '{}',
    -- When the spent amount first was above a limit.
    exceeded_at    timestamptz
);

-- What is reserved for the attempts of items that a budget has admitted.
create table tenax.reservation (
    budget   bigint not null references tenax.budget (execution_id) on delete cascade,
    item_id  bigint not null,
    cost_usd double precision not null,
    tokens   bigint not null,
    primary key (budget, item_id)
);
create index reservation_item on tenax.reservation (item_id);

-- The usage that running attempts have reported. A row counts only while its lease is valid.
create table tenax.attempt_usage (
    item_id     bigint primary key,
    lease_token uuid not null,
    cost_usd    double precision,
    tokens      bigint,
    at          timestamptz not null
);

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

create table tenax.fan (
    execution_id bigint not null,
    step         text not null,
    total        integer not null,
    ended        integer not null default 0,
    failed       integer not null default 0,
    attempts     bigint not null default 0,
    -- How many items may fail before the step fails.
    tolerated    integer not null,
    -- How many items may run at once. Null: every item has its slot from the start.
    parallelism  integer,
    placed       integer not null,
    -- True if the step has ended. Items of it may still run.
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
    -- The element of the list. It is kept if a compensation may need it.
    element      jsonb,
    primary key (execution_id, step, item_no)
);

create table tenax.dead_letter (
    -- The item's id when the letter was first written. Recovery may rebuild an item under another id, so statements find
    -- a letter by the place of its item.
    item_id      bigint primary key,
    execution_id bigint not null,
    workflow     text not null,
    step         text not null,
    item_no      integer,
    compensates  boolean not null,
    status       text not null check (status in ('open', 'redriven', 'recovered', 'resolved', 'discarded')),
    -- The item failed within the `tolerate` of its step.
    tolerated    boolean not null,
    -- The rule of the decision that gave up on the item, or that quarantined it (`poison`).
    rule         text not null,
    class        text not null,
    reason       text not null,
    -- The beginning of the failure's message.
    message      text not null,
    -- A hash of class, reason, step and the shape of the message.
    fingerprint  text not null,
    -- The number of the last attempt.
    attempts     integer not null check (attempts >= 0),
    -- How often the item failed for good or was quarantined. It can do so again each time that it is started again.
    failed_times integer not null check (failed_times > 0),
    first_at     timestamptz not null,
    last_at      timestamptz not null,
    -- When the status last changed.
    changed_at   timestamptz not null,
    -- Why it was discarded, and by whom.
    note         text,
    actor        text,
    constraint dead_letter_note check (status <> 'discarded' or note is not null and actor is not null)
) with (fillfactor = 85);
create unique index dead_letter_place on tenax.dead_letter (execution_id, step, coalesce(item_no, -1), compensates);
create index dead_letter_newest on tenax.dead_letter (status, last_at, item_id);
create index dead_letter_group on tenax.dead_letter (fingerprint, status, last_at);

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
    -- The transaction that wrote the row. A reader that resumes must not skip one that has not committed yet.
    xid          xid8 not null default pg_current_xact_id(),
    -- A list as JSON text. Only readers parse it.
    events       text not null
) partition by range (at);
create index log_execution on tenax.log (execution_id, id);
create index log_id on tenax.log using brin (id);
-- Finds the rows of a few transactions. Summaries of whole ranges of pages cost the writers of the log nothing.
create index log_xid on tenax.log using brin ((xid::text::bigint));
-- New pages are summarized at once: vacuum leaves the log alone.
create index log_at on tenax.log using brin (at) with (autosummarize = on);
create table tenax.log_default partition of tenax.log default
    -- Otherwise vacuum would offer free space on old pages to new rows, which would then be scattered over the whole
    -- old log.
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
    -- True if it recovered by a probe, and is degraded for a while.
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
    protocol       integer not null default 1,
    -- Its number, for operators' SQL.
    id             bigint generated always as identity
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
    -- Who paused the queue, and why. Null: it is not paused.
    paused_by   text,
    paused_why  text,
    paused_at   timestamptz,
    check ((rate is null) = (burst is null)),
    constraint queue_limit_paused check ((paused_by is null) = (paused_at is null))
);

create table tenax.workflow_pause (
    workflow  text primary key,
    actor     text not null,
    reason    text,
    paused_at timestamptz not null,
    -- Who resumed it. The row goes when the executions that were paused with it go on.
    resumed_by  text,
    resumed_why text
);

-- The executions that were paused with their workflow. They are resumed with it.
create table tenax.workflow_paused (
    execution_id bigint primary key references tenax.execution (id) on delete cascade,
    workflow     text not null
);
create index workflow_paused_name on tenax.workflow_paused (workflow);

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
    -- The most executions that it acts on in a second. Null: no limit.
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
    -- The step that it acts on. Null: the action chooses the step.
    step          text,
    -- The result that `complete` gives, and the fields of the policy that `reschedule` gives.
    result        jsonb,
    policy        jsonb,
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
    -- The dead letter that a job of the action `redrive` starts again.
    letter_id    bigint,
    primary key (job_id, n)
) with (fillfactor = 70);
create index bulk_item_pending on tenax.bulk_item (job_id, n) where state = 'pending';

-- An archive, in chunks of 1 MB, so that a server never holds a whole one in memory.
create table tenax.pack_content (
    hash        text primary key,
    chunks      integer not null,
    stored_at   timestamptz not null default tenax.now(),
    -- When the last pack with this content was replaced or removed. It is deleted later, if no open execution uses it.
    released_at timestamptz
);
create index pack_content_released on tenax.pack_content (released_at) where released_at is not null;

create table tenax.pack_chunk (
    hash text not null references tenax.pack_content (hash) on delete cascade,
    n    integer not null,
    data bytea not null,
    primary key (hash, n)
);

create table tenax.pack (
    name         text primary key,
    hash         text not null references tenax.pack_content (hash),
    -- The pack's version, description, size and actions.
    manifest     jsonb not null,
    installed_at timestamptz not null default tenax.now(),
    installed_by text not null
);
create index pack_hash on tenax.pack (hash);

create table tenax.token (
    id         bigint generated always as identity primary key,
    name       text not null,
    role       text not null check (role in ('admin', 'operator', 'worker', 'viewer')),
    hash       bytea not null unique,
    created_at timestamptz not null default tenax.now(),
    revoked_at timestamptz
);

-- Executions that start by themselves.
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

-- What people did. It is written in the transaction of the action.
create table tenax.audit (
    id      bigint generated always as identity primary key,
    at      timestamptz not null default tenax.now(),
    actor   text not null,
    action  text not null,
    kind    text not null constraint audit_kind check (kind in
            ('execution', 'dead_letters', 'worker', 'queue', 'workflow', 'pack', 'bulk', 'token', 'filter', 'schedule')),
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

create table tenax.service (
    one        boolean primary key default true check (one),
    alive_at   timestamptz,
    reap_after timestamptz,
    secret     bytea not null,
    -- The server that looks after the fleet until `leader_until`.
    leader       uuid,
    leader_until timestamptz,
    -- Servers written for an older schema than this stop. A migration that they cannot work with raises it to its own
    -- number. This column and its table keep their names and their meaning for ever: every server reads them, however
    -- old it is.
    oldest_schema integer not null default 23,
    -- The bytes that one submission by `tenax.submit` may have: `max_body` of the server that started last.
    max_body      bigint
);
insert into tenax.service (secret)
    values (decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'));

-- The submissions that applications made in their own transactions, until a server starts them.
create table tenax.requested_submission (
    -- The id that its execution will have.
    execution_id bigint primary key,
    workflow     text,
    source       text,
    filename     text,
    base_dir     text,
    files        jsonb,
    input        jsonb,
    submit_key   text,
    requested_at timestamptz not null,
    requested_by text not null,
    -- The bytes of its input, source and files.
    size         bigint not null
);
create unique index requested_submission_key on tenax.requested_submission (submit_key) where submit_key is not null;

-- Those that could not be started, and why.
create table tenax.rejected_submission (
    execution_id bigint primary key,
    workflow     text,
    submit_key   text,
    input        jsonb,
    requested_at timestamptz not null,
    requested_by text not null,
    rejected_at  timestamptz not null,
    reason       text not null,
    message      text not null
);
create index rejected_submission_at on tenax.rejected_submission (rejected_at);

-- The results of attempts that were completed in a transaction of the task's own. Whatever ends the lease of such an
-- attempt takes the row, and makes it a success.
create table tenax.attempt_result (
    lease_token  uuid primary key,
    item_id      bigint not null,
    execution_id bigint not null,
    step         text not null,
    item_no      integer,
    attempt      integer not null,
    result       jsonb,
    completed_at timestamptz not null
);
create index attempt_result_execution on tenax.attempt_result (execution_id);

-- Returns why a value cannot be an input or a result. Null: it can.
create function tenax.json_fault(value jsonb) returns text
    language sql immutable set search_path = pg_catalog, pg_temp
    as $$
select case when jsonb_path_exists(value, 'strict $.**{501}') then 'more than 500 levels'
            when jsonb_path_exists(value, 'strict $.** ? (@.type() == "number" && (@ > 1e308 || @ < -1e308))')
            then 'a number beyond 1e308' end
$$;

-- Submits an execution in the caller's transaction. Returns its id. It starts when the transaction commits.
create function tenax.submit(
    workflow text default null,
    input    jsonb default null,
    key      text default null,
    source   text default null,
    filename text default null,
    base_dir text default null,
    files    jsonb default null
) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
declare
    most  bigint;
    size  bigint;
    fault text;
    id    bigint;
begin
    fault := case
        when (submit.workflow is null) = (submit.source is null) then 'it needs the name of a stored workflow, or the source of a definition'
        when char_length(submit.workflow) not between 1 and 200 then 'workflow must have 1 to 200 characters'
        when char_length(submit.key) not between 1 and 200 then 'key must have 1 to 200 characters'
        when starts_with(submit.key, 'tenax:') then 'a key cannot begin with ''tenax:'': such keys are the server''s own'
        when char_length(submit.filename) > 1000 or char_length(submit.base_dir) > 1000
        then 'filename and base_dir must have at most 1000 characters'
        when jsonb_typeof(submit.input) <> 'object' then 'input must be a JSON object'
        when jsonb_typeof(submit.files) <> 'object' then 'files must be a JSON object'
        else 'input has ' || tenax.json_fault(submit.input)
    end;
    if fault is not null then
        raise exception using errcode = 'invalid_parameter_value', message = 'tenax.submit: ' || fault;
    end if;
    select coalesce(s.max_body, 16777216) into most from tenax.service s;
    size := coalesce(octet_length(submit.input::text), 0) + coalesce(octet_length(submit.source), 0)
            + coalesce(octet_length(submit.files::text), 0);
    if size > most then
        raise exception using errcode = 'program_limit_exceeded',
            message = format('tenax.submit takes at most %s bytes (max_body)', most),
            hint = 'send less, or raise max_body (TENAX_MAX_BODY) on the servers';
    end if;
    if submit.workflow is not null and not exists (
        select from tenax.workflow w
         where w.name = split_part(submit.workflow, '@', 1)
           and (strpos(submit.workflow, '@') in (0, char_length(submit.workflow))
                or w.version = substr(submit.workflow, strpos(submit.workflow, '@') + 1))) then
        raise exception using errcode = 'undefined_object', message = format('there is no workflow named %L', submit.workflow),
            hint = '`tenax workflows` lists what is stored; `tenax store FILE` stores a definition';
    end if;
    for tries in 1..10 loop
        select e.id into id from tenax.execution e where e.submit_key = submit.key;
        if id is not null then
            return id;
        end if;
        insert into tenax.requested_submission
               (execution_id, workflow, source, filename, base_dir, files, input, submit_key, requested_at, requested_by,
                size)
        values (nextval('tenax.execution_id'), submit.workflow, submit.source, submit.filename, submit.base_dir, submit.files,
                submit.input, submit.key, tenax.now(), session_user, size)
            on conflict (submit_key) where submit_key is not null do nothing
        returning execution_id into id;
        if id is null then
            select r.execution_id into id from tenax.requested_submission r where r.submit_key = submit.key;
        elsif submit.key is not null and exists (select from tenax.execution e where e.submit_key = submit.key) then
            -- A server has started the request of another transaction with this key in the meantime.
            delete from tenax.requested_submission r where r.execution_id = id;
            id := null;
        else
            perform pg_notify('tenax_news', '{"requests":true}');
        end if;
        if id is not null then
            return id;
        end if;
    end loop;
    raise exception using errcode = 'serialization_failure', message = format('the key %L is being used by others', submit.key);
end
$$;

-- Completes an attempt in the caller's transaction.
create function tenax.complete(item_id bigint, token uuid, result jsonb default null) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp
    as $$
declare
    most  bigint;
    fault text;
    held  record;
    pause interval;
begin
    select coalesce(s.max_body, 16777216) into most from tenax.service s;
    if octet_length(complete.result::text) > most then
        raise exception using errcode = 'program_limit_exceeded',
            message = format('a result has at most %s bytes (max_body)', most),
            hint = 'store large data elsewhere, and return a reference to it';
    end if;
    fault := tenax.json_fault(complete.result);
    if fault is not null then
        raise exception using errcode = 'invalid_parameter_value', message = 'the result has ' || fault;
    end if;
    -- The lock makes the server wait for this transaction before it ends the lease.
    select i.execution_id, i.step, i.item_no, i.attempt into held
      from tenax.item i
     where i.id = complete.item_id and i.state = 'leased' and i.lease_token = complete.token
       for update;
    if not found then
        raise exception using errcode = 'TX001', message = 'the lease of this attempt is not valid any more',
            hint = 'roll back: another attempt does the work, or somebody cancelled it';
    end if;
    begin
        insert into tenax.attempt_result (lease_token, item_id, execution_id, step, item_no, attempt, result, completed_at)
        values (complete.token, complete.item_id, held.execution_id, held.step, held.item_no, held.attempt, complete.result,
                tenax.now());
    exception when unique_violation then
        raise exception using errcode = 'TX002', message = 'this attempt is complete already';
    end;
    -- Heartbeats and the server wait while the item is locked, so the transaction must commit soon.
    pause := current_setting('idle_in_transaction_session_timeout')::interval;
    if pause = interval '0' or pause > interval '10 seconds' then
        perform set_config('idle_in_transaction_session_timeout', '10s', true);
    end if;
end
$$;

-- Only roles that are granted them (docs/transactions.md) call them.
revoke execute on function tenax.submit(text, jsonb, text, text, text, text, jsonb), tenax.complete(bigint, uuid, jsonb) from public;

-- What the leader counts of the log, by minute and in all, and how far it has counted.
create table tenax.roll_up (
    one        boolean primary key default true check (one),
    -- Every transaction with a smaller number is counted, except those in `open`.
    counted    bigint not null default 0,
    -- Transactions with smaller numbers that had not ended when they were looked at.
    open       bigint[] not null default '{}',
    -- Rows of the log up to this id were written in another cluster, before a restore. They are not counted again.
    floor      bigint not null default 0,
    -- The approximate time up to which the log is counted.
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
    -- The number of them that the decision retried or held, and the number that failed for good.
    retried      bigint not null default 0,
    given_up     bigint not null default 0,
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
    -- Seconds that the retries ran, and seconds of delay before them.
    seconds   double precision not null default 0,
    waited    double precision not null default 0,
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
-- The schema of operators: what is written here is documented in docs/sql.md and stays as it is. It only reads.

create schema ops;

-- One row for each attempt that has started, for the views of `ops`.
--
-- A time or an execution that a query asks for reaches the rows of the log, because nothing is computed over several
-- of them here. The events of an execution are read once for all of its attempts: PostgreSQL keeps the map of an
-- execution (Memoize), since it knows that ids of executions are unique. `place` makes the map depend on the attempt,
-- or all executions would be read. The conditions are in `case`, for which PostgreSQL assumes many rows.
create view tenax.attempt as
    select s.id, s.execution_id, s.step, s.item, s.compensates, s.attempt, s.max_attempts, s.worker, s.started_at,
           (t.told ->> 0)::timestamptz as ended_at, t.told ->> 1 as ended_by,
           t.told ->> 2 as class, t.told ->> 3 as reason,
           t.told ->> 4 as error, t.told ->> 5 as verdict,
           (t.told ->> 6)::integer as counted,
           (t.told ->> 7)::double precision as retry_delay_seconds,
           (t.told ->> 8)::timestamptz as available_at,
           (t.told ->> 9)::bigint as first_id, (t.told ->> 10)::bigint as previous_id,
           -- Why it was started: the class of the failure before it, or the event that ended the attempt before it.
           t.told ->> 11 as cause
      from (
        select l.id + e.n - 1 as id, l.execution_id, l.at as started_at, l.tableoid as place,
               e.event ->> 'step' as step, (e.event ->> 'item')::integer as item,
               (e.event ->> 'attempt')::integer as attempt,
               e.event ->> 'type' = 'compensation_started' as compensates,
               coalesce(e.event #>> '{data,retry,max_attempts}', e.event #>> '{data,decision,max_attempts}')::integer as max_attempts,
               e.event #>> '{data,worker}' as worker
          from tenax.log l
         cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n)
         where case when strpos(l.events, '_started"') > 0 or strpos(l.events, '"queue_expired"') > 0 then true end
           and case when e.event ->> 'type' in ('action_started', 'compensation_started', 'queue_expired') then true end
      ) as s
      -- All ids are positive. PostgreSQL assumes that few are, and so that each execution has many attempts here.
      left join tenax.execution x on x.id = s.execution_id and sign(x.id) = 1
      left join lateral (
        select jsonb_object_agg(r.id, r.told) as map
          from (
            select g.id,
                   -- The callee of an earlier attempt may have ended the item: then this attempt has no end of its own.
                   coalesce(g.ended, case when max(g.done_at) over line is not null
                                          then jsonb_build_array(max(g.done_at) over line, 'item_cancelled', null, null, null) end,
                            '[null, null, null, null, null]')
                   || coalesce(g.decided, '[null, null, null, null]')
                   || jsonb_build_array(first_value(g.id) over attempts, lag(g.id) over attempts,
                          lag(case when g.by_hand then 'by_hand' else coalesce(g.ended ->> 2, g.ended ->> 1) end) over attempts) as told
              from (
                select v.compensates, v.step, v.item, v.attempt, min(v.id) filter (where v.is_start) as id,
                       bool_or(v.type = 'retry_rescheduled') as by_hand,
                       max(v.at) filter (where v.type in ('action_completed', 'compensation_completed')) as done_at,
                       -- An item that waits for its retry is cancelled after its attempt has ended.
                       (array_agg(v.ended order by v.ended ->> 1 in ('item_cancelled', 'compensation_cancelled'), v.id desc)
                           filter (where v.ended is not null))[1] as ended,
                       (array_agg(v.decided order by v.id desc) filter (where v.decided is not null))[1] as decided
                  from (
                    select u.id, u.at, u.type, u.step, u.item, u.compensates, u.is_start,
                           -- Items that are cancelled do not say which attempt was running.
                           coalesce(u.attempt, max(u.attempt) over (partition by u.compensates, u.step, u.item order by u.id)) as attempt,
                           case when u.is_end then jsonb_build_array(u.at, u.type, u.data #> '{failure,class}', u.data #> '{failure,reason}',
                                                                     u.data -> 'error') end as ended,
                           case when u.data ? 'decision' then jsonb_build_array(u.data #> '{decision,verdict}',
                                    -- Of a success at the first attempt, only the verdict is recorded.
                                    coalesce(u.data #> '{decision,after,counted}', case when u.data #>> '{decision,verdict}' = 'complete' then '1'::jsonb end),
                                    u.data -> 'delay_seconds', u.data -> 'available_at') end as decided
                      from (
                        select r.id + e.n - 1 as id, r.at, e.event -> 'data' as data, e.event ->> 'type' as type,
                               e.event ->> 'step' as step, e.event ->> 'item' as item, (e.event ->> 'attempt')::integer as attempt,
                               starts_with(e.event ->> 'type', 'compensation') or e.event @> '{"data": {"compensation": true}}' as compensates,
                               e.event ->> 'type' in ('action_started', 'compensation_started', 'queue_expired') as is_start,
                               e.event ->> 'type' in ('action_completed', 'action_error', 'action_not_completed', 'action_snoozed',
                                   'action_polled', 'lease_expired', 'lease_released', 'queue_expired', 'item_cancelled',
                                   'compensation_completed', 'compensation_error', 'compensation_cancelled') as is_end
                          from tenax.log r
                         cross join lateral jsonb_array_elements(r.events::jsonb) with ordinality as e (event, n)
                         where r.execution_id = x.id and s.place is not null
                           and e.event ->> 'type' in ('action_started', 'action_completed', 'action_error', 'action_not_completed',
                               'action_snoozed', 'action_polled', 'lease_expired', 'lease_released', 'queue_expired', 'item_cancelled',
                               'item_failed', 'step_retry', 'step_failed_terminal', 'retry_held', 'retry_rescheduled',
                               'compensation_started', 'compensation_completed', 'compensation_error', 'compensation_cancelled',
                               'compensation_retry', 'compensation_failed')
                      ) as u
                  ) as v
                 group by v.compensates, v.step, v.item, v.attempt
              ) as g
             where g.id is not null
            window line as (partition by g.compensates, g.step, g.item), attempts as (line order by g.attempt)
          ) as r
      ) as m on true
      -- One lookup for all columns. An aggregate is one row, so that all of this is left out where nothing of it is asked for.
      left join lateral (select (array_agg(m.map -> (s.id + v.zero)::text))[1] as told from (values (0)) as v (zero)) as t on true;

create view ops.events as
    select l.id + e.n - 1 as id, l.execution_id, l.at,
           e.event ->> 'type' as type, e.event ->> 'step' as step,
           (e.event ->> 'item')::integer as item, (e.event ->> 'attempt')::integer as attempt,
           coalesce(e.event -> 'data', '{}'::jsonb) as data,
           l.id + e.n - 1 as event_id, e.event ->> 'type' as event_type, l.at as created_at,
           e.event ->> 'step' as node_id, e.event ->> 'step' as node_name,
           case when e.event ->> 'type' like '%\_started' then 'STARTED'
                when e.event ->> 'type' like '%\_completed' and e.event ->> 'type' <> 'action_not_completed' then 'COMPLETED'
                when e.event ->> 'type' in ('step_enqueued', 'step_retry', 'retry_held', 'compensation_enqueued', 'compensation_retry') then 'PENDING'
                when e.event ->> 'type' in ('action_error', 'action_not_completed', 'lease_expired', 'queue_expired', 'step_retry_exhausted',
                    'step_failed_terminal', 'item_failed', 'execution_failed', 'compensation_error', 'compensation_failed') then 'FAILED'
           end as status,
           (e.event #>> '{data,seconds}')::double precision as duration,
           coalesce(e.event -> 'data', '{}'::jsonb) as context,
           e.event #> '{data,result}' as result,
           coalesce(e.event #>> '{data,error}', e.event #>> '{data,last_error}', e.event #>> '{data,final_error}',
                    e.event #>> '{data,failure,message}') as error,
           e.event #>> '{data,worker}' as worker_id
      from tenax.log l
     cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n);

create view ops.attempts as
    select a.id, a.execution_id, a.step, a.item, a.compensates, a.attempt, a.max_attempts, a.worker,
           case a.ended_by
                when 'action_completed' then 'succeeded' when 'compensation_completed' then 'succeeded'
                when 'action_not_completed' then 'not_completed' when 'action_snoozed' then 'snoozed' when 'action_polled' then 'polled'
                when 'lease_released' then 'released' when 'item_cancelled' then 'cancelled' when 'compensation_cancelled' then 'cancelled'
                when 'action_error' then 'failed' when 'compensation_error' then 'failed'
                when 'lease_expired' then 'failed' when 'queue_expired' then 'failed'
                else 'running' end as outcome,
           a.started_at, a.ended_at,
           a.class, a.reason, a.error,
           a.verdict, a.counted,
           a.retry_delay_seconds, a.available_at
      from tenax.attempt a;

create view ops.execution as
    select a.id, a.execution_id, a.step, a.item, a.action_ref, a.retry_count, a.max_retries, a.retry_reason, a.original_execution,
           case a.ended_by
                when 'action_completed' then 'completed' when 'compensation_completed' then 'completed'
                when 'action_snoozed' then 'snoozed' when 'action_polled' then 'polled'
                when 'lease_released' then 'abandoned' when 'item_cancelled' then 'cancelled' when 'compensation_cancelled' then 'cancelled'
                when 'action_error' then 'failed' when 'compensation_error' then 'failed' when 'action_not_completed' then 'failed'
                when 'lease_expired' then 'failed' when 'queue_expired' then 'failed'
                else 'running' end as status,
           jsonb_build_object('retry_count', a.retry_count, 'max_retries', a.max_retries, 'retry_reason', a.retry_reason,
               'original_execution', a.original_execution, 'retry_of', a.previous_id) as config,
           (select w.id from tenax.worker w where w.name = a.worker) as worker,
           a.started_at as created, coalesce(a.ended_at, a.started_at) as updated
      from (
        select a.*, a.attempt - 1 as retry_count, a.max_attempts - 1 as max_retries,
               case when a.attempt > 1 then nullif(a.first_id, a.id) end as original_execution,
               case when a.attempt = 1 then
                         case when x.retry_of is not null then 'manual_retry' end
                    when a.cause = 'by_hand' then 'manual_retry'
                    when a.cause = 'worker_lost' then 'worker_heartbeat_stale'
                    when a.cause in ('worker_unavailable', 'queue_timeout') then a.cause
                    when a.cause = 'action_snoozed' then 'snoozed'
                    when a.cause = 'action_polled' then 'polled'
                    when a.cause = 'lease_released' then 'released'
                    else 'transient_error' end as retry_reason,
               w.name || '.' || a.step as action_ref
          from tenax.attempt a
          left join tenax.execution x on x.id = a.execution_id
          left join tenax.plan p on p.id = x.plan_id
          left join tenax.workflow w on w.id = p.workflow_id
      ) as a;

create view ops.retry_chain as
    select e.execution_id, e.step, e.item, coalesce(e.original_execution, e.id) as original_execution, e.id, e.retry_count, e.max_retries,
           e.retry_reason, e.status, e.created, e.updated, x.retry_of as retry_of_execution,
           coalesce(x.original_execution, e.execution_id) as original_of_executions
      from ops.execution e
      left join tenax.execution x on x.id = e.execution_id;

-- Sums by minute, from what the leader has counted of the log.
create view ops.retry_stats as
    select m.minute, nullif(m.class, '') as class, nullif(m.reason, '') as reason, sum(m.n)::bigint as attempts,
           coalesce(sum(m.n) filter (where m.attempt = 1), 0)::bigint as first_attempts,
           coalesce(sum(m.n) filter (where m.attempt > 1), 0)::bigint as retries,
           sum(m.retried)::bigint as retried, sum(m.given_up)::bigint as failed
      from tenax.attempt_minute m
     where m.outcome in ('succeeded', 'failed', 'not_completed', 'lost', 'expired')
     group by m.minute, m.class, m.reason;

create view ops.queue as
    select i.id, i.execution_id,
           (select w.name from tenax.plan p join tenax.workflow w on w.id = p.workflow_id where p.id = i.plan_id) as workflow,
           i.step, i.item_no as item, i.compensates, i.step as node_id, i.queue, i.priority::integer as priority,
           case i.state when 'retrying' then 'queued' when 'accepted' then 'leased' else i.state end as status, i.state,
           coalesce((i.ledger ->> 'counted')::integer, 0) as attempts, i.max_attempts, i.attempt, i.available_at,
           case when i.state = 'retrying' then greatest(0, round((extract(epoch from i.available_at - i.created_at)
               - (i.ledger ->> 'elapsed')::numeric)::numeric, 3))::double precision end as retry_delay_seconds,
           coalesce(i.policy, (select q.body from tenax.plan p
              join tenax.policy q on q.hash = p.policies ->> case when i.compensates then 'compensate:' || i.step else i.step end
             where p.id = i.plan_id)) as retry_config,
           i.last_error, i.worker, case when i.state = 'leased' then i.expires_at end as lease_until,
           i.created_at, coalesce(i.started_at, i.created_at) as updated_at
      from tenax.item i
    -- Dead items: those with a dead letter that have not been started again. The letters have an index by status and time,
    -- so a status must be given.
    union all
    select d.item_id, d.execution_id, d.workflow, d.step, d.item_no, d.compensates, d.step, null, null, 'dead', 'failed',
           d.attempts, (q.body ->> 'max_attempts')::integer, d.attempts, null, null, q.body, d.message, null, null, null, d.last_at
      from (values ('open'), ('discarded')) as s (status)
      join tenax.dead_letter d on d.status = s.status
      left join tenax.execution x on x.id = d.execution_id
      left join tenax.plan p on p.id = x.plan_id
      left join tenax.policy q on q.hash = p.policies ->> case when d.compensates then 'compensate:' || d.step else d.step end
     where not exists (select from tenax.item i
                        where i.execution_id = d.execution_id and i.step = d.step and i.compensates = d.compensates
                          and i.item_no is not distinct from d.item_no);

create view ops.dead_letters as
    select l.item_id as id, l.execution_id, l.workflow, l.step, l.item_no as item, l.compensates, l.status, l.tolerated, l.rule,
           l.class, l.reason, l.message as error, l.fingerprint, l.attempts, l.failed_times, l.first_at, l.last_at, l.changed_at,
           l.note, l.actor
      -- All statuses that there are: the index by status and time serves a filter of time alone.
      from (values ('open'), ('redriven'), ('recovered'), ('resolved'), ('discarded')) as s (status)
      join tenax.dead_letter l on l.status = s.status;

create view ops.worker_health as
    select w.id, w.name, w.state as status, w.health, w.health_column, w.health_since, w.last_heartbeat,
           extract(epoch from tenax.now() - w.last_heartbeat)::double precision as heartbeat_age_seconds,
           (w.streak + (select count(*) from tenax.worker_loss l
                         where l.worker = w.name and l.at > coalesce(w.last_success_at, '-infinity')))::integer as consecutive_failures,
           (select count(*) from tenax.item i where i.state = 'leased' and i.worker = w.name)::integer as queue_depth,
           r.runs, r.failures, case when r.runs > 0 then r.failures::double precision / r.runs end as failure_rate,
           w.runs as total_executions, w.failures as failed_executions,
           (w.reported ->> 'average_execution_time_ms')::double precision as average_execution_time_ms,
           coalesce(w.reported_at, w.last_heartbeat) as last_check, w.probe_at
      from tenax.worker w
     cross join lateral (
        select coalesce(sum(b.runs), 0)::integer as runs, coalesce(sum(b.failures), 0)::integer as failures
          from tenax.worker_window b
         where b.worker = w.name and b.bucket > tenax.now() - interval '5 minutes'
     ) as r;

create view ops.worker as
    select w.id, w.name, w.state as status,
           jsonb_build_object('runtimes', to_jsonb(w.runtimes), 'health', jsonb_build_object(
               'status', h.health, 'last_check', h.last_check, 'consecutive_failures', h.consecutive_failures,
               'total_executions', h.total_executions, 'failed_executions', h.failed_executions,
               'average_execution_time_ms', h.average_execution_time_ms, 'queue_depth', h.queue_depth)) as capabilities,
           w.last_heartbeat, w.version, w.queues, w.labels, w.slots, w.registered_at as created
      from tenax.worker w
      join ops.worker_health h on h.id = w.id;

create view ops.healthy_workers as
    select w.id, w.name, w.status, w.capabilities, w.last_heartbeat,
           w.capabilities -> 'health' ->> 'status' as health_status,
           (w.capabilities -> 'health' ->> 'queue_depth')::integer as queue_depth,
           (w.capabilities -> 'health' ->> 'consecutive_failures')::integer as consecutive_failures
      from ops.worker w
     where w.status = 'active' and w.capabilities -> 'health' ->> 'status' = 'healthy';

create view ops.action as
    select c.name || '.' || (s.step ->> 'name') as ref, c.name as workflow, c.version, s.step ->> 'name' as step,
           s.step ->> 'type' as runtime, (s.step ->> 'timeout')::double precision as timeout_seconds,
           (q.body ->> 'max_attempts')::integer - 1 as max_retries, q.body as retry_config, null::text as pack
      from (
        select distinct on (w.name) w.id, w.name, w.version, w.body
          from tenax.workflow w
         where w.stored_at is not null
         order by w.name, w.stored_at desc, w.id desc
      ) as c
     cross join lateral jsonb_array_elements(c.body -> 'steps') as s (step)
      left join lateral (select p.policies from tenax.plan p where p.workflow_id = c.id order by p.id desc limit 1) as p on true
      left join tenax.policy q on q.hash = p.policies ->> (s.step ->> 'name')
     union all
    select k.name || '.' || (a.action ->> 'name'), null, k.manifest ->> 'version', null, a.action ->> 'runtime',
           coalesce((a.action ->> 'timeout')::double precision, 300),
           (r.policy ->> 'max_attempts')::integer - 1, r.policy, k.name
      from tenax.pack k
     cross join lateral jsonb_array_elements(k.manifest -> 'actions') as a (action)
     cross join lateral (select k.manifest -> 'policies' -> (a.action ->> 'name') as policy) as r;

create function ops.is_retry_eligible(attempts integer, retryable boolean, max_attempts integer) returns boolean
    language sql immutable parallel safe
    as $$
        select coalesce(attempts, 0) = 0
            or coalesce(retryable, true) and coalesce(attempts, 0) < coalesce(max_attempts, 3)
    $$;

create function ops.get_step_readiness_status_batch(execution_ids bigint[], step_ids text[] default null)
    returns table (
        execution_id bigint, step text, state text, dependencies_satisfied boolean, retry_eligible boolean,
        ready_for_execution boolean, last_failure_at timestamptz, next_retry_at timestamptz, total_parents integer,
        completed_parents integer, attempts integer, max_attempts integer, backoff_request_seconds double precision,
        last_attempted_at timestamptz, retryable boolean
    )
    language sql stable security definer set search_path = pg_catalog
    as $$
        with step as (
            select x.id as execution_id, x.state as execution_state, s.step ->> 'name' as name, s.step -> 'needs' as needs, s.place,
                   q.body, t.state, t.attempts
              from unnest(execution_ids) as wanted (id)
              join tenax.execution x on x.id = wanted.id
              join tenax.plan p on p.id = x.plan_id
              join tenax.workflow w on w.id = p.workflow_id
             cross join lateral jsonb_array_elements(w.body -> 'steps') with ordinality as s (step, place)
              left join tenax.policy q on q.hash = p.policies ->> (s.step ->> 'name')
              left join tenax.step t on t.execution_id = x.id and t.step = s.step ->> 'name'
        ), forgiving as (
            select x.id as execution_id, s.step ->> 'name' as name
              from tenax.execution x
              join tenax.plan p on p.id = x.plan_id
              join tenax.workflow w on w.id = p.workflow_id
             cross join lateral jsonb_array_elements(w.body -> 'steps') as s (step)
             where x.id = any(execution_ids) and s.step -> 'on_failure' <> 'null'
        ), done as (
            select t.execution_id, t.step as name
              from tenax.step t
             where t.execution_id = any(execution_ids)
               and (t.state in ('completed', 'skipped')
                    or t.state = 'failed' and (t.execution_id, t.step) in (select f.execution_id, f.name from forgiving f))
        ), happened as (
            select wanted.id as execution_id, t.*
              from unnest(execution_ids) as wanted (id)
             cross join lateral (
                select e.event ->> 'step' as name,
                       max(l.at) filter (where e.event ->> 'type' = 'action_started') as last_attempted_at,
                       max(l.at) filter (where e.event ->> 'type' in ('action_error', 'action_not_completed', 'lease_expired', 'queue_expired'))
                       as last_failure_at,
                       -- The last number and not the highest: an operator may have reset it. Of a fan-out, the highest one.
                       case when bool_or(e.event ->> 'item' is not null) then max(c.counted)
                            else (array_agg(c.counted order by l.id desc, e.n desc) filter (where c.counted is not null))[1] end as counted
                  from tenax.log l
                 cross join lateral jsonb_array_elements(l.events::jsonb) with ordinality as e (event, n)
                 cross join lateral (
                    select coalesce((e.event #>> '{data,decision,after,counted}')::integer,
                               case when e.event ->> 'type' = 'action_completed' then 1 end) as counted
                 ) as c
                 where l.execution_id = wanted.id and not starts_with(e.event ->> 'type', 'compensation')
                 group by e.event ->> 'step'
             ) as t
        ), live as (
            select i.execution_id, i.step as name,
                   case when bool_or(i.state in ('leased', 'accepted')) then 'running'
                        when bool_or(i.state = 'queued') then 'queued' when bool_or(i.state = 'retrying') then 'retrying'
                        when bool_or(i.state = 'held') then 'held' else 'pending' end as state,
                   max(coalesce((i.ledger ->> 'counted')::integer, 0)) as counted,
                   max(coalesce((i.ledger ->> 'granted')::integer, 0)) as granted,
                   (array_agg(i.policy) filter (where i.policy is not null))[1] as policy,
                   (array_agg(i.max_attempts))[1] as max_attempts,
                   min(i.available_at) filter (where i.state = 'retrying') as next_retry_at,
                   min(extract(epoch from i.available_at - i.created_at) - (i.ledger ->> 'elapsed')::double precision)
                       filter (where i.state = 'retrying') as delay,
                   -- What an operator grants does not count.
                   min(greatest(coalesce((i.ledger ->> 'counted')::integer, 0) - coalesce((i.ledger ->> 'granted')::integer, 0), 0)) filter (
                       where i.state in ('queued', 'retrying') and i.stopped_by is null and i.available_at <= tenax.now()) as least_due
              from tenax.item i
             where i.execution_id = any(execution_ids) and not i.compensates
             group by i.execution_id, i.step
        ), joined as (
            select s.execution_id, s.execution_state, s.name, s.place, s.needs, h.last_failure_at, h.last_attempted_at,
                   l.next_retry_at, l.delay, l.least_due, coalesce(l.granted, 0) as granted,
                   case when l.state is not null then l.state
                        when s.state <> 'pending' then s.state
                        when s.state is null and s.execution_state in ('completed', 'failed', 'cancelled') then s.execution_state
                        else 'pending' end as state,
                   coalesce(l.counted, h.counted, s.attempts, 0) as attempts,
                   case when p.body ? 'max_attempts' then coalesce((p.body ->> 'max_attempts')::integer, 2147483647)
                        when p.body is null then l.max_attempts end as most,
                   (p.body ->> 'retryable')::boolean as retryable
              from step s
              left join happened h on h.execution_id = s.execution_id and h.name = s.name
              left join live l on l.execution_id = s.execution_id and l.name = s.name
             cross join lateral (select coalesce(l.policy, s.body) as body) as p
             where step_ids is null or s.name = any(step_ids)
        )
        select j.execution_id, j.name, j.state, n.total = n.completed, e.eligible,
               coalesce(j.execution_state = 'running' and j.least_due is not null and n.total = n.completed
                        and ops.is_retry_eligible(j.least_due, j.retryable, j.most), false),
               j.last_failure_at, j.next_retry_at, n.total, n.completed, j.attempts,
               case when coalesce(j.most, 3) < 2147483647 then coalesce(j.most, 3) + j.granted end,
               round(j.delay::numeric, 3)::double precision, j.last_attempted_at, coalesce(j.retryable, true)
          from joined j
         cross join lateral (select ops.is_retry_eligible(greatest(j.attempts - j.granted, 0), j.retryable, j.most) as eligible) as e
         cross join lateral (
            select count(*)::integer as total, count(d.name)::integer as completed
              from jsonb_array_elements_text(j.needs) as parent (name)
              left join done d on d.execution_id = j.execution_id and d.name = parent.name
         ) as n
         order by j.execution_id, j.place
    $$;

create function ops.execution_of(id bigint) returns bigint
    language sql stable security definer set search_path = pg_catalog
    -- A row of the log has the ids from its own on, up to the next multiple of 32.
    as $$ select l.execution_id from tenax.log l where l.id = $1 / 32 * 32 $$;

create function ops.is_execution_retriable(id bigint) returns boolean
    language sql stable security definer set search_path = pg_catalog
    as $$
        select coalesce((
            select ops.is_retry_eligible(
                       coalesce(a.counted, a.attempt), (q.body ->> 'retryable')::boolean,
                       case when q.body ? 'max_attempts' then coalesce((q.body ->> 'max_attempts')::integer, 2147483647)
                            else a.max_attempts end)
              from tenax.attempt a
              join tenax.execution x on x.id = a.execution_id
              join tenax.plan p on p.id = x.plan_id
              left join tenax.policy q on q.hash = p.policies ->> case when a.compensates then 'compensate:' || a.step else a.step end
             where a.execution_id = (select ops.execution_of($1)) and a.id = $1 and a.class is not null
        ), false)
    $$;

create function ops.get_worker_queue_depth(id bigint) returns integer
    language sql stable security definer set search_path = pg_catalog
    as $$
        select count(*)::integer
          from tenax.worker w
          join tenax.item i on i.worker = w.name and i.state = 'leased'
         where w.id = $1
    $$;

-- Only roles that are granted it (docs/sql.md) call what reads with the rights of the owner.
revoke execute on all functions in schema ops from public;

-- What the columns mean. The tables of docs/sql.md are made from these comments.

comment on view ops.events is 'The events, one row for each. Sort by `id`: it rises within an execution as the events happened.';
comment on column ops.events.id is 'unique, rises with time, with gaps';
comment on column ops.events.execution_id is 'the execution; null for events of workers and queues';
comment on column ops.events.at is 'the time of the transaction that wrote it';
comment on column ops.events.type is 'the type of the event';
comment on column ops.events.step is 'the step';
comment on column ops.events.item is 'the number of the item in its fan-out, from 0; null for a step without one';
comment on column ops.events.attempt is 'the number of the attempt, from 1';
comment on column ops.events.data is 'what the event records';
comment on column ops.events.event_id is 'as `id`';
comment on column ops.events.event_type is 'as `type`';
comment on column ops.events.created_at is 'as `at`';
comment on column ops.events.node_id is 'as `step`';
comment on column ops.events.node_name is 'as `step`';
comment on column ops.events.status is '`STARTED`, `COMPLETED`, `FAILED` or `PENDING`; null for events without such a meaning';
comment on column ops.events.duration is 'seconds that the attempt ran, as its worker measured';
comment on column ops.events.context is 'as `data`';
comment on column ops.events.result is 'the result that the event carries';
comment on column ops.events.error is 'the message of the failure';
comment on column ops.events.worker_id is 'the name of the worker';

comment on view ops.attempts is 'The attempts, one row for each that has started, or that was not leased within `queue_ttl`.';
comment on column ops.attempts.id is 'the id of the event `action_started` (`queue_expired` if it never started)';
comment on column ops.attempts.execution_id is 'the execution';
comment on column ops.attempts.step is 'the step';
comment on column ops.attempts.item is 'the number of the item in its fan-out, from 0; null for a step without one';
comment on column ops.attempts.compensates is 'true: an attempt to undo the step';
comment on column ops.attempts.attempt is 'the number of the attempt, from 1';
comment on column ops.attempts.max_attempts is 'the limit of counted attempts; null: unlimited';
comment on column ops.attempts.worker is 'the name of the worker; null: the server';
comment on column ops.attempts.outcome is '`running`, `succeeded`, `failed`, `not_completed`, `snoozed`, `polled`, `released` (handed back) or `cancelled`';
comment on column ops.attempts.started_at is 'when it started';
comment on column ops.attempts.ended_at is 'when it ended; null while it runs';
comment on column ops.attempts.class is 'the class of its failure';
comment on column ops.attempts.reason is 'the reason of its failure';
comment on column ops.attempts.error is 'the message of its failure';
comment on column ops.attempts.verdict is 'the decision on its outcome: `complete`, `retry`, `hold`, `fail` or `stop`; null if none was needed';
comment on column ops.attempts.counted is 'counted attempts of the item after it, if the decision recorded them';
comment on column ops.attempts.retry_delay_seconds is 'the delay before the next attempt';
comment on column ops.attempts.available_at is 'the time from which the next attempt may start';

comment on view ops.execution is 'The attempts as Attune''s table of executions: each attempt is a row, and a retry names the first one.';
comment on column ops.execution.id is 'the id of the event `action_started` (`queue_expired` if it never started)';
comment on column ops.execution.execution_id is 'the execution of Tenax';
comment on column ops.execution.step is 'the step';
comment on column ops.execution.item is 'the number of the item in its fan-out, from 0; null for a step without one';
comment on column ops.execution.action_ref is 'the workflow and the step: `workflow.step`';
comment on column ops.execution.retry_count is 'the number of the attempt, less 1';
comment on column ops.execution.max_retries is '`max_attempts`, less 1; null: unlimited';
comment on column ops.execution.retry_reason is 'why the attempt was made: `transient_error`, `worker_heartbeat_stale`, `worker_unavailable`, `queue_timeout`, `manual_retry`, `snoozed`, `polled` or `released`; null for a first attempt';
comment on column ops.execution.original_execution is 'the `id` of the item''s first attempt; null in the row of the first attempt itself';
comment on column ops.execution.status is '`running`, `completed`, `failed`, `cancelled`, `abandoned` (handed back), `snoozed` or `polled`';
comment on column ops.execution.config is '`retry_count`, `max_retries`, `retry_reason`, `original_execution`, and `retry_of`: the `id` of the attempt before';
comment on column ops.execution.worker is 'the number of the worker';
comment on column ops.execution.created is 'when it started';
comment on column ops.execution.updated is 'when it ended, or started if it runs';

comment on view ops.retry_chain is 'Each attempt with the first one of its item. Filter by `execution_id`, and sort by `id`.';
comment on column ops.retry_chain.execution_id is 'the execution';
comment on column ops.retry_chain.step is 'the step';
comment on column ops.retry_chain.item is 'the number of the item in its fan-out, from 0; null for a step without one';
comment on column ops.retry_chain.original_execution is 'the `id` of the item''s first attempt';
comment on column ops.retry_chain.id is 'as in `execution`';
comment on column ops.retry_chain.retry_count is 'as in `execution`';
comment on column ops.retry_chain.max_retries is 'as in `execution`';
comment on column ops.retry_chain.retry_reason is 'as in `execution`';
comment on column ops.retry_chain.status is 'as in `execution`';
comment on column ops.retry_chain.created is 'when it started';
comment on column ops.retry_chain.updated is 'when it ended, or started if it runs';
comment on column ops.retry_chain.retry_of_execution is 'the execution that this execution repeats (`tenax retry`)';
comment on column ops.retry_chain.original_of_executions is 'the first execution of such a chain; else the execution itself';

comment on view ops.retry_stats is 'Ended attempts, counted by minute, class and reason, as the server that leads has counted them. Snoozes and polls are left out.';
comment on column ops.retry_stats.minute is 'the minute in which they ended';
comment on column ops.retry_stats.class is 'the class of the failure; null: they succeeded';
comment on column ops.retry_stats.reason is 'the reason of the failure; null: they succeeded';
comment on column ops.retry_stats.attempts is 'the number of attempts';
comment on column ops.retry_stats.first_attempts is 'how many of them were first attempts';
comment on column ops.retry_stats.retries is 'how many of them were not';
comment on column ops.retry_stats.retried is 'how many of them are retried';
comment on column ops.retry_stats.failed is 'how many of them failed for good';

comment on view ops.queue is 'The live work items, and those that have failed for good and were not started again (`dead`).';
comment on column ops.queue.id is 'the item; of a dead one, its dead letter';
comment on column ops.queue.execution_id is 'the execution';
comment on column ops.queue.workflow is 'the name of the workflow';
comment on column ops.queue.step is 'the step';
comment on column ops.queue.item is 'the number of the item in its fan-out, from 0; null for a step without one';
comment on column ops.queue.compensates is 'true: it undoes the step';
comment on column ops.queue.node_id is 'as `step`';
comment on column ops.queue.queue is 'the queue; null if it is dead';
comment on column ops.queue.priority is 'the priority, 0 first; null if it is dead';
comment on column ops.queue.status is '`queued` (retries too), `leased`, `waiting`, `held` or `dead`';
comment on column ops.queue.state is 'the state of the work item';
comment on column ops.queue.attempts is 'counted attempts; of a dead item, the number of the last attempt';
comment on column ops.queue.max_attempts is 'the limit of counted attempts; null: unlimited';
comment on column ops.queue.attempt is 'the number of the last attempt';
comment on column ops.queue.available_at is 'the time from which it may be leased';
comment on column ops.queue.retry_delay_seconds is 'of an item that waits for a retry: the delay';
comment on column ops.queue.retry_config is 'its retry policy, with all fields';
comment on column ops.queue.last_error is 'the message of its last failure';
comment on column ops.queue.worker is 'the name of the worker that has it';
comment on column ops.queue.lease_until is 'when its lease expires';
comment on column ops.queue.created_at is 'when it was first queued; null if it is dead';
comment on column ops.queue.updated_at is 'when it died, or its last attempt started, or it was queued';

comment on view ops.dead_letters is 'The dead letters: the items that have failed for good or are quarantined, also those that recovered.';
comment on column ops.dead_letters.id is 'the number of the letter, which is that of its item';
comment on column ops.dead_letters.execution_id is 'the execution';
comment on column ops.dead_letters.workflow is 'the name of the workflow';
comment on column ops.dead_letters.step is 'the step';
comment on column ops.dead_letters.item is 'the number of the item in its fan-out, from 0; null for a step without one';
comment on column ops.dead_letters.compensates is 'true: the item was to undo the step';
comment on column ops.dead_letters.status is '`open`, `redriven` (started again, and not ended), `recovered` (succeeded later), `resolved` (ended by an operator or with its execution) or `discarded`';
comment on column ops.dead_letters.tolerated is 'true: the step went on in spite of it';
comment on column ops.dead_letters.rule is 'the rule of the decision that gave up; `poison` if the item is quarantined';
comment on column ops.dead_letters.class is 'the class of its last failure';
comment on column ops.dead_letters.reason is 'the reason of its last failure';
comment on column ops.dead_letters.error is 'the beginning of the message of its last failure';
comment on column ops.dead_letters.fingerprint is 'the group of failures that are alike';
comment on column ops.dead_letters.attempts is 'the number of its last attempt';
comment on column ops.dead_letters.failed_times is 'how often it failed for good';
comment on column ops.dead_letters.first_at is 'when it first failed for good';
comment on column ops.dead_letters.last_at is 'when it last did';
comment on column ops.dead_letters.changed_at is 'when its status last changed';
comment on column ops.dead_letters.note is 'why it was discarded';
comment on column ops.dead_letters.actor is 'who discarded it';

comment on view ops.worker_health is 'The workers with the server''s verdict on their health, and what it is judged by.';
comment on column ops.worker_health.id is 'the number of the worker';
comment on column ops.worker_health.name is 'the name of the worker';
comment on column ops.worker_health.status is '`active`, `draining`, `paused` or `gone`';
comment on column ops.worker_health.health is 'the verdict: `healthy`, `degraded` or `unhealthy`';
comment on column ops.worker_health.health_column is 'the column that decided the verdict; null: healthy';
comment on column ops.worker_health.health_since is 'since when the verdict holds';
comment on column ops.worker_health.last_heartbeat is 'when the server last heard of it';
comment on column ops.worker_health.heartbeat_age_seconds is 'seconds since then';
comment on column ops.worker_health.consecutive_failures is 'failures in a row that speak of the worker';
comment on column ops.worker_health.queue_depth is 'items that are leased to it';
comment on column ops.worker_health.runs is 'attempts that ended on it in the last 5 minutes';
comment on column ops.worker_health.failures is 'those of them whose failure speaks of the worker';
comment on column ops.worker_health.failure_rate is '`failures` / `runs`; null without runs';
comment on column ops.worker_health.total_executions is 'attempts that ended on it since it is known';
comment on column ops.worker_health.failed_executions is 'those of them whose failure speaks of the worker';
comment on column ops.worker_health.average_execution_time_ms is 'as the worker reports it';
comment on column ops.worker_health.last_check is 'when it last reported its health, or was heard';
comment on column ops.worker_health.probe_at is 'when it may be given a probe';

comment on view ops.worker is 'The workers as Attune''s table.';
comment on column ops.worker.id is 'the number of the worker';
comment on column ops.worker.name is 'the name of the worker';
comment on column ops.worker.status is '`active`, `draining`, `paused` or `gone`';
comment on column ops.worker.capabilities is '`runtimes`, and `health`: `status` (the server''s verdict), `last_check`, `consecutive_failures`, `total_executions`, `failed_executions`, `average_execution_time_ms`, `queue_depth`';
comment on column ops.worker.last_heartbeat is 'when the server last heard of it';
comment on column ops.worker.version is 'the version of its code';
comment on column ops.worker.queues is 'the queues that it serves';
comment on column ops.worker.labels is 'its labels';
comment on column ops.worker.slots is 'the number of its slots';
comment on column ops.worker.created is 'when it registered';

comment on view ops.healthy_workers is 'The workers that are active and healthy.';
comment on column ops.healthy_workers.id is 'the number of the worker';
comment on column ops.healthy_workers.name is 'the name of the worker';
comment on column ops.healthy_workers.status is '`active`';
comment on column ops.healthy_workers.capabilities is 'as in `worker`';
comment on column ops.healthy_workers.last_heartbeat is 'when the server last heard of it';
comment on column ops.healthy_workers.health_status is '`healthy`';
comment on column ops.healthy_workers.queue_depth is 'items that are leased to it';
comment on column ops.healthy_workers.consecutive_failures is 'failures in a row that speak of the worker';

comment on view ops.action is 'The actions of the installed packs, and the steps of the stored workflows, as each name finds them now.';
comment on column ops.action.ref is 'the pack and the action: `pack.action`, or the workflow and the step: `workflow.step`';
comment on column ops.action.workflow is 'the name of the workflow; null for an action of a pack';
comment on column ops.action.version is 'the version of the workflow or of the pack';
comment on column ops.action.step is 'the step; null for an action of a pack';
comment on column ops.action.runtime is 'the type of the step, or the runtime of the action';
comment on column ops.action.timeout_seconds is 'the limit of an attempt';
comment on column ops.action.max_retries is '`max_attempts`, less 1; null: unlimited';
comment on column ops.action.retry_config is 'the retry policy, with all fields';
comment on column ops.action.pack is 'the name of the pack; null for a step';

create view ops.rejected_submissions as
    select r.execution_id, r.workflow, r.submit_key as key, r.input, r.requested_at, r.requested_by, r.rejected_at, r.reason,
           r.message
      from tenax.rejected_submission r;

create view ops.budgets as
select b.execution_id, b.workflow, b.path[1] as root, b.cost_usd, b.tokens, b.spent_usd, b.spent_tokens,
       coalesce(r.cost_usd, 0)::double precision as reserved_usd, coalesce(r.tokens, 0)::bigint as reserved_tokens,
       greatest(b.cost_usd - b.spent_usd - coalesce(r.cost_usd, 0), 0)::double precision as left_usd,
       greatest(b.tokens - b.spent_tokens - coalesce(r.tokens, 0), 0)::bigint as left_tokens, b.exceeded_at
  from tenax.budget b
  left join lateral (
    select sum(greatest(r.cost_usd, u.cost_usd)) as cost_usd, sum(greatest(r.tokens, u.tokens)) as tokens
      from tenax.reservation r
      left join tenax.attempt_usage u on u.item_id = r.item_id
     where r.budget = b.execution_id
  ) as r on true
 where b.cost_usd is not null or b.tokens is not null;

comment on view ops.budgets is 'The budgets of trees of executions, and what is left of them.';
comment on column ops.budgets.execution_id is 'the execution at the root of the tree';
comment on column ops.budgets.workflow is 'the name of its workflow';
comment on column ops.budgets.root is 'the execution at the root of the outermost tree around it';
comment on column ops.budgets.cost_usd is 'the limit in USD; null: there is none';
comment on column ops.budgets.tokens is 'the limit of tokens; null: there is none';
comment on column ops.budgets.spent_usd is 'what the ended attempts of the tree have cost';
comment on column ops.budgets.spent_tokens is 'the tokens that they have used';
comment on column ops.budgets.reserved_usd is 'what is reserved for attempts in flight, or what they have told if that is more';
comment on column ops.budgets.reserved_tokens is 'the same in tokens';
comment on column ops.budgets.left_usd is 'the limit, less what is spent and reserved; null: there is no limit';
comment on column ops.budgets.left_tokens is 'the same in tokens';
comment on column ops.budgets.exceeded_at is 'when more was spent than the limit; null: it was not';

comment on view ops.rejected_submissions is 'The submissions by `tenax.submit` that the server could not start, and why.';
comment on column ops.rejected_submissions.execution_id is 'the id that `tenax.submit` returned: no execution has it';
comment on column ops.rejected_submissions.workflow is 'the name of the workflow; null: the source was given';
comment on column ops.rejected_submissions.key is 'the key of the submission';
comment on column ops.rejected_submissions.input is 'its input';
comment on column ops.rejected_submissions.requested_at is 'when `tenax.submit` was called';
comment on column ops.rejected_submissions.requested_by is 'the role of the session that called it';
comment on column ops.rejected_submissions.rejected_at is 'when the server rejected it';
comment on column ops.rejected_submissions.reason is 'the code of the error: `invalid_input`, `invalid_definition`, `key_taken`, ...';
comment on column ops.rejected_submissions.message is 'the error';

comment on function ops.is_retry_eligible(integer, boolean, integer) is 'Whether the policy''s numbers allow another attempt after so many counted ones: none yet, or `retryable` and fewer than `max_attempts` (3 if null).';
comment on function ops.get_step_readiness_status_batch(bigint[], text[]) is 'The steps of these executions (or those of them that are named): their state, and whether they could start now.';
comment on function ops.execution_of(bigint) is 'The execution that an event belongs to: of an `id` of `events`, `attempts` or `execution`.';
comment on function ops.is_execution_retriable(bigint) is 'Whether the attempt with this `id` of `execution` failed, and its policy''s numbers allow another one.';
comment on function ops.get_worker_queue_depth(bigint) is 'How many items are leased to the worker with this number.';
