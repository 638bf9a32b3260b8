-- Returns the ended steps of an execution. A result, or a list of failures, of more than $2 bytes is left out: only
-- its size is returned.
select s.step, s.state, s.attempts,
       case when octet_length(s.result) <= $2 then s.result end as result, s.failure,
       case when octet_length(s.failures) <= $2 then s.failures end as failures,
       case when octet_length(s.result) <= $2 then null else coalesce(octet_length(s.result), s.result_size) end as result_size,
       case when octet_length(s.failures) <= $2 then null else coalesce(octet_length(s.failures), s.failures_size) end as failures_size
  from (
    select s.step, s.state, s.attempts, s.failure,
           case when pg_column_size(s.result) <= 8 * $2::bigint then s.result::text end as result,
           case when pg_column_size(s.failures) <= 8 * $2 then s.failures::text end as failures,
           pg_column_size(s.result) as result_size, pg_column_size(s.failures) as failures_size
      from tenax.step s
     where s.execution_id = $1::bigint and s.state <> 'pending'
    offset 0
  ) as s
