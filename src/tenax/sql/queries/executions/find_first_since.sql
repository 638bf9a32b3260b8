-- Returns about the first execution that was made at $1 or later, by bisection: ids are in the order of time, but for
-- seconds. Returns null if there is none.
with recursive search as (
    select coalesce((select min(id) from tenax.execution), 0) as low, coalesce((select max(id) from tenax.execution), 0) + 1 as high
    union all
    select case when r.created_at < $1::timestamptz then r.id + 1 else s.low end,
           case when r.created_at < $1::timestamptz then s.high else (s.low + s.high) / 2 end
      from search s
      left join lateral (
        select e.id, e.created_at from tenax.execution e where e.id >= (s.low + s.high) / 2 and e.id < s.high order by e.id limit 1
      ) as r on true
     where s.low < s.high
)
select min(high) as id from search
