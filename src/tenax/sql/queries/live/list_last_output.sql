-- Returns the last parts of output of an execution, at most $5 bytes: of a step ($2), an item ($3) and an attempt ($4), each if
-- it is not null.
select o.id, o.step, o.item_no, o.compensates, o.attempt, o.start, o.size, o.text, o.at
  from (
    select *, sum(size) over (order by id desc) as behind
      from (
        select * from tenax.output
         where execution_id = $1::bigint and ($2::text is null or step = $2)
           and ($3::integer is null or item_no = $3) and ($4::integer is null or attempt = $4)
         order by id desc
         limit 1000
      ) as p
  ) as o
 where o.behind <= $5::bigint
 order by o.id
