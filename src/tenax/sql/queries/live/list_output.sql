-- Returns the next parts of output of an execution after the id $2, up to $6 bytes: of a step ($3), an item ($4) and an
-- attempt ($5), each if it is not null.
select o.id, o.step, o.item_no, o.compensates, o.attempt, o.start, o.size, o.text, o.at
  from (
    select *, sum(size) over (order by id) - size as before
      from (
        select * from tenax.output
         where execution_id = $1::bigint and id > $2::bigint and ($3::text is null or step = $3)
           and ($4::integer is null or item_no = $4) and ($5::integer is null or attempt = $5)
         order by id
         limit 1000
      ) as p
  ) as o
 where o.before < $6::bigint
 order by o.id
