-- Opens a fan-out again. These items ($3) are not ended any more: they are inserted again.
with gone as (
    delete from tenax.item_result where execution_id = $1::bigint and step = $2::text and item_no = any($3::integer[])
)
update tenax.fan f
   set closed = false, parallelism = case when $4::integer < f.total then $4 end
 where f.execution_id = $1 and f.step = $2
returning f.execution_id, f.step, f.total, f.ended, f.failed, f.attempts, f.tolerated, f.parallelism, f.placed, f.closed
