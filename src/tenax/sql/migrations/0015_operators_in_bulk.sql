-- Bulk jobs act on steps, give results and policies, and redrive dead letters. Queues and workflows can be paused.
alter table tenax.bulk_job
    -- The step that it acts on. Null: what the action finds to do.
    add column step text,
    -- The result that `complete` gives, and the fields of the policy that `reschedule` gives.
    add column result jsonb,
    add column policy jsonb;
alter table tenax.bulk_item
    -- The dead letter that a job of the action `redrive` starts again.
    add column letter_id bigint;

alter table tenax.queue_limit
    -- Who paused the queue, and why. Null: it is not paused.
    add column paused_by text,
    add column paused_why text,
    add column paused_at timestamptz,
    add constraint queue_limit_paused check ((paused_by is null) = (paused_at is null));

create table tenax.workflow_pause (
    workflow  text primary key,
    actor     text not null,
    reason    text,
    paused_at timestamptz not null,
    -- Who resumed it. The row goes when the executions that were paused with it go on.
    resumed_by  text,
    resumed_why text
);

create table tenax.workflow_paused (
    execution_id bigint primary key references tenax.execution (id) on delete cascade,
    workflow     text not null
);
create index workflow_paused_name on tenax.workflow_paused (workflow);

-- Servers of an earlier schema would skip the items of such jobs, and would start the work of paused workflows.
alter table tenax.service alter column oldest_schema set default 15;
update tenax.service set oldest_schema = 15;
