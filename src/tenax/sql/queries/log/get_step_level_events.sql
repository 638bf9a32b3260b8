-- Returns the events of get_events, without those of single items of a fan-out. Beyond $2 bytes of data, large results
-- are left out (only their sizes are returned), and so is the large evidence ($3) of failures.
select e.id, e.seq, e.type, e.at, e.step, e.item, e.attempt,
       case when e.is_shown then e.data
            when e.data -> 'failure' ?| $3::text[]
                 then jsonb_set(e.data - 'result', array['failure'], (e.data -> 'failure') - $3)
            else e.data - 'result' end as data,
       case when not e.is_shown then octet_length((e.data -> 'result')::text) end as result_size,
       not e.is_shown and coalesce(e.data -> 'failure' ?| $3, false) as is_brief
  from (
    select e.*, not e.data ?| array['result', 'failure'] or e.size <= 1000 or sum(e.size) over (order by e.seq) <= $2::bigint as is_shown
      from (
        select e.id, e.seq, e.type, e.at, e.step, e.item, e.attempt, e.data, octet_length(e.data::text) as size
          from tenax.event e
         where e.execution_id = $1::bigint and e.item is null
      ) as e
  ) as e
 order by e.seq
