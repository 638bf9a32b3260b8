-- Budgets of trees of executions: what they have spent, what is reserved for attempts in flight, and what running attempts
-- say that they have used.
alter table tenax.execution add column budgeted boolean not null default false;
create index execution_budgeted on tenax.execution (id) where budgeted and state in ('running', 'paused');
create index item_unpaid on tenax.item (execution_id, id) where queue = 'tenax:budget';

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

create table tenax.reservation (
    budget   bigint not null references tenax.budget (execution_id) on delete cascade,
    item_id  bigint not null,
    cost_usd double precision not null,
    tokens   bigint not null,
    primary key (budget, item_id)
);
create index reservation_item on tenax.reservation (item_id);

create table tenax.attempt_usage (
    item_id     bigint primary key,
    lease_token uuid not null,
    cost_usd    double precision,
    tokens      bigint,
    at          timestamptz not null
);
