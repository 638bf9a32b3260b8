-- A queue row with fewer columns, none of them with two meanings. `expires_at` says when the present state of an item runs out: before,
-- four columns did. `stopped_by` says why it may not be leased: before, three did. The limits are one value. The child that an item
-- waits for is known by its parent's columns. The time that an item may wait in the queue belongs to its plan, or to its fan-out.
-- The limits that an item is under: how many of the same action, and of the same key, may run at once.
create type tenax.limits as (
    action      text,
    action_most integer,
    key         text,
    key_most    integer
);

-- What a server of the old version commits before it is stopped must be in the copy.
lock table tenax.execution, tenax.item, tenax.fan in access exclusive mode;

create temporary table old_item on commit drop as table tenax.item;
drop table tenax.item;

create table tenax.item (
    id           bigint primary key default nextval('tenax.item_id'),
    execution_id bigint not null,
    plan_id      bigint not null,
    step         text not null,
    -- The place of its element in the list of a fan-out.
    item_no      integer,
    -- It undoes what the step did.
    compensates  boolean not null default false,
    state        text not null
                 constraint item_state check (state in ('waiting', 'queued', 'leased', 'accepted', 'retrying', 'held')),
    -- Why it may not be leased, whatever its state. `slot`: its fan-out has no free slot. `pause`: its execution is paused. `limit`: as
    -- many as may were running when it was looked at; one that ends lets it go on.
    stopped_by   text constraint item_stopped_by check (stopped_by in ('slot', 'pause', 'limit')),
    queue        text not null,
    runtime      text not null,
    priority     smallint not null,
    labels       jsonb,
    -- The fan-outs take turns, by this number: the id of the execution that a fan-out began with. 0: it belongs to none.
    lane         bigint not null default 0,
    limits       tenax.limits,
    -- The workers that have no handler for it.
    refused_by   text[],
    -- It has cost workers their lease, and is next to be quarantined: it runs beside no other such item.
    suspect      boolean not null default false,
    -- `ready`: any able worker may have it, in the order of the queue. `restricted`: it is ready, but its lane, its limits, a refusal or
    -- a suspicion says who may have it, and when. `blocked`: it waits at a limit. `running`: it counts against its limits.
    standing     text generated always as (
        case when state in ('leased', 'accepted') then 'running'
             when state not in ('queued', 'retrying') then null
             when stopped_by is null then
                  case when lane = 0 and not suspect and refused_by is null and limits is null then 'ready' else 'restricted' end
             when stopped_by = 'limit' then 'blocked' end) stored,
    -- When it may be leased at the earliest.
    available_at timestamptz not null,
    -- When its present state runs out: its time in the queue, its lease (which no heartbeat extends beyond its timeout), what it waits
    -- for, its hold. Null: never.
    expires_at   timestamptz,
    -- When it was first queued.
    created_at   timestamptz not null,
    -- When its present attempt began.
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
    -- The last result: of a poll that was not done yet; for a compensation, of what it undoes.
    previous     jsonb,
    -- What the next attempt has otherwise: {entry, override}.
    vary         jsonb,
    -- What an accepted item waits for: signal:NAME, approval, child, callback, sleep.
    awaiting     text,
    -- The folder of the workflow's file, as its execution has it.
    base_dir     text,
    constraint item_lease check ((state = 'leased') = (lease_token is not null)),
    constraint item_wait check ((state = 'accepted') = (awaiting is not null)),
    constraint item_end check (expires_at is not null
                               or state not in ('leased', 'held') and coalesce(awaiting, '') not in ('sleep', 'callback')),
    constraint item_limit check (stopped_by is distinct from 'limit' or not (limits is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 1);

alter table tenax.fan add column queue_ttl double precision;
update tenax.fan f
   set queue_ttl = i.queue_ttl
  from (select distinct execution_id, step, queue_ttl from old_item
         where item_no is not null and not compensates and queue_ttl is not null) as i
 where i.execution_id = f.execution_id and i.step = f.step;

-- What nothing would have ended gets an end here: the constraints ask for one.
insert into tenax.item
       (id, execution_id, plan_id, step, item_no, compensates, state, stopped_by, queue, runtime, priority, labels, lane, limits,
        refused_by, suspect, available_at, expires_at, created_at, started_at, attempt, max_attempts, timeout, ledger, last_error,
        worker, lease_grant, lease_token, element, previous, vary, awaiting, base_dir)
select i.id, i.execution_id, i.plan_id, i.step, i.item_no, i.compensates, i.state,
       case when not i.placed then 'slot' when i.paused then 'pause'
            when i.blocked and (i.action_gate is not null or i.key_gate is not null) then 'limit' end,
       i.queue, i.runtime, i.priority, i.labels, i.lane,
       case when i.action_gate is not null or i.key_gate is not null
            then row(i.action_gate, i.action_most, i.key_gate, i.key_most)::tenax.limits end,
       i.refused_by, i.suspect, i.available_at,
       case i.state when 'leased' then least(i.lease_until, i.timeout_at)
                    when 'held' then coalesce(i.timeout_at, tenax.now() + interval '1 day')
                    when 'accepted' then case when coalesce(i.awaiting, 'callback') in ('sleep', 'callback') then coalesce(i.timeout_at, tenax.now())
                                              else i.timeout_at end
                    when 'waiting' then null
                    else i.queue_deadline end,
       i.created_at, i.started_at, i.attempt, i.max_attempts, i.timeout, i.ledger, i.last_error, i.worker, i.lease_grant,
       case when i.state = 'leased' then i.lease_token end, i.element, i.previous, i.vary,
       case when i.state = 'accepted' then case when i.awaiting like 'child:%' then 'child' else coalesce(i.awaiting, 'callback') end end,
       i.base_dir
  from old_item i;

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

drop index tenax.execution_parent;
create unique index execution_parent on tenax.execution (parent_id, parent_step, coalesce(parent_item_no, -1), parent_attempt)
    where parent_id is not null;

alter table tenax.fan add foreign key (execution_id) references tenax.execution (id) on delete cascade;
alter table tenax.signal add foreign key (execution_id) references tenax.execution (id) on delete cascade;
