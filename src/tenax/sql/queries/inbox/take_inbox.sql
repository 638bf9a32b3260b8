-- Messages to be delivered now, less those of $2.
select id, execution_id, kind, body from tenax.inbox
 where id <> all($2::bigint[])
 order by id limit $1::integer
   for update skip locked
