-- Returns the items of a fan-out's step by their number: live, ended, and cancelled ones, which have no row left.
-- After $6 bytes of results, further large ones are left out, but never the first: only their sizes are returned.
select s.item_no, s.state, s.attempt, s.max_attempts, s.failure, s.available_at, s.last_error, s.worker, s.awaiting, s.child, s.until,
       s.lost_by, case when s.is_shown then s.text end as result, case when not s.is_shown then s.size end as result_size
  from (
    select y.item_no, y.state, y.attempt, y.max_attempts, y.failure, y.available_at, y.last_error, y.worker, y.awaiting, y.child, y.until,
           y.lost_by, t.text, t.size,
           y.place = 1 or coalesce(t.size, 0) <= 1000 or sum(t.size) over (order by y.item_no) <= $6 as is_shown
      from (
        select z.*, row_number() over (order by z.item_no) as place
          from (
            select x.*
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
                                      where r.execution_id = $1 and r.step = $2 and r.item_no = n.no)
                 ) as x
             where x.item_no > $3 and ($4::text[] is null or x.state = any($4))
             order by x.item_no
             limit $5::integer
          ) as z
      ) as y
     cross join lateral (
        -- Each text is made only once. It is not made at all if the stored value is many times as large as the limit.
        select m.text, coalesce(octet_length(m.text), pg_column_size(y.result)) as size
          from (select case when y.place = 1 or pg_column_size(y.result) <= 8 * $6::bigint then y.result::text end as text offset 0) as m
     ) as t
  ) as s
 order by s.item_no
