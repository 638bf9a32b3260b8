-- Queues the next compensation of an execution. The time that it may wait in the queue is that of its action ($3, $4).
update tenax.item i
   set state = 'queued', available_at = $2::timestamptz, created_at = $2,
       expires_at = case when i.stopped_by is null
                         then $2 + make_interval(secs => (
                                  select a.queue_ttl from unnest($3::text[], $4::double precision[]) as a (step, queue_ttl)
                                   where a.step = i.step)) end
 where i.id = (select n.id from tenax.item n
                where n.execution_id = $1::bigint and n.state = 'waiting' and n.compensates
                order by n.id limit 1)
returning i.step, i.item_no
