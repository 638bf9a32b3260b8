-- The next compensation is queued.
update tenax.item i
   set state = 'queued', available_at = $2::timestamptz, created_at = $2,
       queue_deadline = case when not i.paused then $2 + make_interval(secs => i.queue_ttl) end
 where i.id = (select n.id from tenax.item n
                where n.execution_id = $1::bigint and n.state = 'waiting' and n.compensates
                order by n.id limit 1)
returning i.step, i.item_no
