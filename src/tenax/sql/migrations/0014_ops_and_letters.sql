-- The views of operators know dead letters and operators' actions, and sums by minute come from what the leader counts.

alter table tenax.attempt_minute
    -- How many of them were decided to be retried or held, and how many failed for good.
    add column retried bigint not null default 0,
    add column given_up bigint not null default 0;

alter table tenax.worker_minute
    -- Seconds that the retries ran, and seconds of delay before them.
    add column seconds double precision not null default 0,
    add column waited double precision not null default 0;

-- The log is counted again from its beginning, so that all minutes have the new columns. A restored log cannot be.
do $$
begin
    if (select floor = 0 from tenax.roll_up) then
        truncate tenax.attempt_minute, tenax.worker_minute, tenax.event_minute, tenax.lateness_minute, tenax.metric_total,
                 tenax.retry_underway;
        update tenax.roll_up set counted = 0, open = '{}', counted_at = null;
    end if;
end
$$;

-- A server that was written for an older schema would not count the new columns: it must stop.
alter table tenax.service alter column oldest_schema set default 14;
update tenax.service set oldest_schema = 14;

-- Sums by minute, from what the leader has counted of the log.
create or replace view ops.retry_stats as
    select m.minute, nullif(m.class, '') as class, nullif(m.reason, '') as reason, sum(m.n)::bigint as attempts,
           coalesce(sum(m.n) filter (where m.attempt = 1), 0)::bigint as first_attempts,
           coalesce(sum(m.n) filter (where m.attempt > 1), 0)::bigint as retries,
           sum(m.retried)::bigint as retried, sum(m.given_up)::bigint as failed
      from tenax.attempt_minute m
     where m.outcome in ('succeeded', 'failed', 'not_completed', 'lost', 'expired')
     group by m.minute, m.class, m.reason;

create or replace view ops.queue as
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

-- Roles that may read the other views may read this one.
do $$
declare
    reader regrole;
begin
    for reader in
        select distinct a.grantee::regrole
          from pg_class c cross join lateral aclexplode(c.relacl) as a
         where c.oid = 'ops.events'::regclass and a.privilege_type = 'SELECT' and a.grantee not in (0, c.relowner)
    loop
        execute format('grant select on ops.dead_letters to %s', reader);
    end loop;
end
$$;

create or replace function ops.get_step_readiness_status_batch(execution_ids bigint[], step_ids text[] default null)
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

comment on view ops.retry_stats is 'Ended attempts, counted by minute, class and reason, as the server that leads has counted them. Snoozes and polls are left out.';
comment on view ops.queue is 'The live work items, and those that have failed for good and were not started again (`dead`).';
comment on column ops.queue.attempts is 'counted attempts; of a dead item, the number of the last attempt';
comment on column ops.queue.id is 'the item; of a dead one, its dead letter';
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
