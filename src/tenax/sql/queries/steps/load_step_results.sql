-- Loads what later steps may read of these steps. A result, or a list of failures, of more than $3 bytes is left out:
-- only its size is returned.
select s.execution_id, s.step, s.state, s.attempts,
       case when octet_length(s.result) <= $3 then s.result end as result, s.failure,
       case when octet_length(s.failures) <= $3 then s.failures end as failures,
       case when octet_length(s.result) <= $3 then null else coalesce(octet_length(s.result), s.result_size) end as result_size,
       case when octet_length(s.failures) <= $3 then null else coalesce(octet_length(s.failures), s.failures_size) end as failures_size
  from unnest($1::bigint[], $2::text[]) as r (execution_id, step)
 cross join lateral (
    -- Finds row by row by the key. With the limit no plan can begin with the steps, and each text is made only once. No
    -- text is made of a value that is stored in many times as many bytes.
    select s.execution_id, s.step, s.state, s.attempts, s.failure,
           case when pg_column_size(s.result) <= 8 * $3::bigint then s.result::text end as result,
           case when pg_column_size(s.failures) <= 8 * $3 then s.failures::text end as failures,
           pg_column_size(s.result) as result_size, pg_column_size(s.failures) as failures_size
      from tenax.step s
     where s.execution_id = r.execution_id and s.step = r.step
     limit 1
 ) as s
