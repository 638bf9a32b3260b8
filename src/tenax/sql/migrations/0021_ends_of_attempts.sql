-- An attempt that had failed was shown as cancelled if its item was cancelled while it waited for the retry.
create or replace view tenax.attempt as
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
