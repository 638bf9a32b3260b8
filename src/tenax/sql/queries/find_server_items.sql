-- Ready items of steps that the server itself carries out.
select i.id, i.execution_id
  from tenax.item i
 where i.queue = $2::text and i.priority = 5 and i.leasable and i.common and i.available_at <= tenax.now() and i.id <> all($3::bigint[])
 order by i.available_at
 limit $1::integer
