-- Keeps parts of the output of attempts. A part that is sent again changes nothing.
insert into tenax.output (execution_id, step, item_no, compensates, attempt, start, size, text, at)
select x.*, tenax.now()
  from unnest($1::bigint[], $2::text[], $3::integer[], $4::boolean[], $5::integer[], $6::bigint[], $7::integer[], $8::text[])
       as x (execution_id, step, item_no, compensates, attempt, start, size, text)
 where exists (select from tenax.execution e where e.id = x.execution_id)
    on conflict (execution_id, step, item_no, compensates, attempt, start) do nothing
