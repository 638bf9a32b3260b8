-- Returns the running jobs with the number of actions that their rate allows now: for the time since the last action, but for
-- one second at most, and never more than $1.
select j.id, j.action, j.filter, j.reason, j.started_by, j.canary, j.max_failed, j.canary_state, j.step,
       j.result, j.policy,
       case when j.rate is null then $1::integer
            when j.due_at > tenax.now() then 0
            else least($1, 1 + floor(extract(epoch from tenax.now() - greatest(coalesce(j.due_at, tenax.now()),
                                                                              tenax.now() - interval '1 second'))
                                     * j.rate + 1e-6)::integer) end as allowed
  from tenax.bulk_job j
 where j.state = 'running'
 order by j.id
