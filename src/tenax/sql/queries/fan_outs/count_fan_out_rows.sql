-- Returns the numbers of the live items and of the ended items, with the counters that follow from them.
select array(select i.item_no from tenax.item i
              where i.execution_id = $1::bigint and i.step = $2::text and not i.compensates) as live,
       array(select r.item_no from tenax.item_result r where r.execution_id = $1 and r.step = $2) as ended,
       (select count(*) from tenax.item_result r
         where r.execution_id = $1 and r.step = $2 and r.state = 'failed')::integer as failed,
       (select coalesce(sum(r.attempts), 0) from tenax.item_result r
         where r.execution_id = $1 and r.step = $2)::bigint as attempts,
       (select count(*) from tenax.item i
         where i.execution_id = $1 and i.step = $2 and not i.compensates and i.stopped_by is distinct from 'slot')::integer as placed
