-- Finds ready items of steps that the server itself carries out, but none of $3 and none of the executions $4.
select c.id, c.execution_id
  from (values ('queued'), ('retrying')) as s (state)
 cross join lateral (
    select i.id, i.execution_id, i.available_at
      from tenax.item i
     where i.queue = $2::text and i.priority = 5 and i.state = s.state and i.standing = 'ready'
       and i.available_at <= tenax.now() and i.id <> all($3::bigint[])
       and i.execution_id <> all($4::bigint[])
     order by i.available_at
     limit $1::integer
 ) as c
 order by c.available_at
 limit $1
