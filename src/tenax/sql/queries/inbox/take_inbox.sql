-- Takes messages to deliver now, without those in $2.
select id, execution_id, kind, body from tenax.inbox
 where id <> all($2::bigint[])
 order by id limit $1::integer
   for update skip locked
