-- Returns the inputs of executions ($1), without those of more than $2 bytes. No text is made of a value that is stored
-- in as many bytes.
select e.id, e.input
  from (
    select x.id, x.input is null as is_empty,
           case when pg_column_size(x.input) <= $2::bigint then x.input::text end as input
      from tenax.execution x
     where x.id = any($1::bigint[])
    offset 0
  ) as e
 where e.is_empty or octet_length(e.input) <= $2
