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

-- Servers of an earlier schema would let attempts run that no budget can pay.
alter table tenax.service alter column oldest_schema set default 17;
update tenax.service set oldest_schema = 17;
