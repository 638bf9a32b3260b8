-- Packs of actions: what is installed under a name, and the content, which is stored once for each hash.

-- An archive, in chunks of 1 MB, so that a server never holds a whole one in memory.
create table tenax.pack_content (
    hash        text primary key,
    chunks      integer not null,
    stored_at   timestamptz not null default tenax.now(),
    -- When no pack was this content any more. It is deleted some time later, if no open execution uses it.
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

alter table tenax.plan
    -- The actions of packs that its steps run, as they were when it was made. Null: none.
    add column actions jsonb,
    -- The contents of packs that it and its children use. Null: none.
    add column packs text[];

create or replace view ops.action as
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

comment on view ops.action is 'The actions of the installed packs, and the steps of the stored workflows, as each name finds them now.';
comment on column ops.action.ref is 'the pack and the action: `pack.action`, or the workflow and the step: `workflow.step`';
comment on column ops.action.workflow is 'the name of the workflow; null for an action of a pack';
comment on column ops.action.version is 'the version of the workflow or of the pack';
comment on column ops.action.step is 'the step; null for an action of a pack';
comment on column ops.action.runtime is 'the type of the step, or the runtime of the action';
comment on column ops.action.pack is 'the name of the pack; null for a step';
