-- The items of a fan-out's step, live and ended, by their place in the list.
select x.item_no, x.state, x.attempt, x.max_attempts, x.result, x.failure, x.available_at, x.last_error, x.worker
  from (select i.item_no, i.state, i.attempt, i.max_attempts, null::jsonb as result, null::jsonb as failure,
               case when i.state = 'retrying' then i.available_at end as available_at, i.last_error, i.worker
          from tenax.item i
         where i.execution_id = $1::bigint and i.step = $2::text and not i.compensates
        union all
        select r.item_no, r.state, r.attempts, null, r.result, r.failure, null, null, null
          from tenax.item_result r
         where r.execution_id = $1 and r.step = $2) as x
 where x.item_no > $3::integer and ($4::text[] is null or x.state = any($4))
 order by x.item_no
 limit $5::integer
