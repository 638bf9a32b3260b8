-- Finds recorded results of the executions after $1, up to $2, that should be gone: those whose attempt has no lease any
-- more, for longer than $3 seconds, and those whose attempt has ended in the log. The end takes the result.
select r.execution_id, r.step, r.item_no, r.attempt, e.ended
  from tenax.attempt_result r
 cross join lateral (
    select exists (select from tenax.log l
                    where l.execution_id = r.execution_id and strpos(l.events, '"token":"' || r.lease_token || '"') > 0) as ended
 ) as e
 where r.execution_id > $1::bigint and r.execution_id <= $2::bigint
   and (e.ended
        or r.completed_at < tenax.now() - make_interval(secs => $3::double precision)
           and not exists (
               select from tenax.item i where i.id = r.item_id and i.state = 'leased' and i.lease_token = r.lease_token))
 order by r.execution_id
 limit 1000
