-- Returns the ends of these children, and the step and item of their parents that started them. A result of more than
-- $2 bytes is left out: only its size is returned.
select e.id, e.state, case when octet_length(r.result) <= $2 then r.result end as result, e.failure, e.parent_step, e.parent_item_no,
       case when octet_length(r.result) <= $2 then null else coalesce(octet_length(r.result), pg_column_size(e.result)) end as result_size
  from tenax.execution e
 cross join lateral (
    select case when pg_column_size(e.result) <= 8 * $2::bigint then e.result::text end as result offset 0
 ) as r
 where e.id = any($1::bigint[]) and e.finished_at is not null
