-- Counts the items of a fan-out by state in $3 ranges of their numbers. Cancelled items have no row.
with wide as (
    select total from tenax.fan where execution_id = $1::bigint and step = $2::text
), item as (
    select r.item_no, r.state from tenax.item_result r where r.execution_id = $1 and r.step = $2
    union all
    select i.item_no, case i.state when 'leased' then 'running' else i.state end
      from tenax.item i
     where i.execution_id = $1 and i.step = $2 and not i.compensates and i.item_no is not null
)
select i.item_no::bigint * $3::bigint / w.total as range, i.state, count(*)::integer as n
  from item i cross join wide w
 group by 1, 2
