-- What ready items of an execution ask for, and since when.
select step, queue, runtime, labels, min(available_at) as since
  from tenax.item
 where execution_id = $1::bigint and state in ('queued', 'retrying') and placed and not paused
   and available_at <= tenax.now() and queue <> $2::text
 group by step, queue, runtime, labels
 limit 100
