-- Keeps checkpoints of running attempts. $1 item, $2 lease token, $3 number within the attempt, $4 value. Only the holder of the
-- lease is believed. Returns the tokens that were believed.
with told as (
    select i.execution_id, i.step, coalesce(i.item_no, -1) as item_no, i.compensates, i.attempt, i.lease_token, x.number, x.value
      from unnest($1::bigint[], $2::uuid[], $3::integer[], $4::text[]) as x (item_id, token, number, value)
      join tenax.item i on i.id = x.item_id and i.lease_token = x.token
     order by i.execution_id, i.step, i.item_no, i.compensates
), kept as (
    insert into tenax.checkpoint as c (execution_id, step, item_no, compensates, attempt, number, value, at)
    select execution_id, step, item_no, compensates, attempt, number, value, tenax.now() from told
        on conflict (execution_id, step, item_no, compensates) do update
       set attempt = excluded.attempt, number = excluded.number, value = excluded.value, at = excluded.at
     where (c.attempt, c.number) <= (excluded.attempt, excluded.number)
)
select lease_token::text from told
