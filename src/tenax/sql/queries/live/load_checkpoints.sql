-- Returns the checkpoints of these items, by their ids ($1). After $6 bytes the values are left out.
select x.id, case when sum(octet_length(c.value)) over (order by x.id) <= $6::bigint then c.value end as value
  from unnest($1::bigint[], $2::bigint[], $3::text[], $4::integer[], $5::boolean[]) as x (id, execution_id, step, item_no, compensates)
  join tenax.checkpoint c on c.execution_id = x.execution_id and c.step = x.step and c.item_no = x.item_no
                         and c.compensates = x.compensates
