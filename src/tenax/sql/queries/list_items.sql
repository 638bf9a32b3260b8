-- The items of a fan-out's step, by their place in the list: live, ended, and those that were cancelled, of which no row is left.
select x.item_no, x.state, x.attempt, x.max_attempts, x.result, x.failure, x.available_at, x.last_error, x.worker, x.awaiting,
       x.child, x.until, x.lost_by
  from (select i.item_no, i.state, i.attempt, i.max_attempts, null::jsonb as result, null::jsonb as failure,
               case when i.state = 'retrying' then i.available_at end as available_at, i.last_error, i.worker, i.awaiting,
               case when i.awaiting = 'child'
                         then (select c.id from tenax.execution c
                                where {is_child_of_item}) end as child,
               case when i.state in ('accepted', 'held') then i.expires_at end as until, coalesce(i.ledger -> 'lost_by', '[]') as lost_by
          from tenax.item i
         where i.execution_id = $1::bigint and i.step = $2::text and not i.compensates
        union all
        select r.item_no, r.state, r.attempts, null, r.result, r.failure, null, null, null, null, null, null, '[]'::jsonb
          from tenax.item_result r
         where r.execution_id = $1 and r.step = $2
        union all
        select n.no, 'cancelled', null, null, null, null, null, null, null, null, null, null, '[]'::jsonb
          from tenax.fan f
          join tenax.execution e on e.id = f.execution_id
         cross join lateral generate_series($3::integer + 1, f.total - 1) as n (no)
         where f.execution_id = $1 and f.step = $2 and f.ended < f.total
           and (f.closed or e.finished_at is not null)
           and not exists (select from tenax.item i
                            where i.execution_id = $1 and i.step = $2 and i.item_no = n.no and not i.compensates)
           and not exists (select from tenax.item_result r
                            where r.execution_id = $1 and r.step = $2 and r.item_no = n.no)) as x
 where x.item_no > $3 and ($4::text[] is null or x.state = any($4))
 order by x.item_no
 limit $5::integer
