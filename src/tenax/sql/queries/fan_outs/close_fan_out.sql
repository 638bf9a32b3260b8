-- Ends a fan-out's step. Its result has the results of its items in the order of the list, null for an item without
-- one.
insert into tenax.step (execution_id, step, state, attempts, failure, result, failures)
select $1::bigint, $2::text, $3::text, $4::integer, $5::jsonb, r.results, r.failures
  from (select coalesce(jsonb_agg(coalesce(i.result, 'null'::jsonb) order by n.no), '[]'::jsonb) as results,
               coalesce(jsonb_agg(jsonb_build_object('item', n.no) || i.failure order by n.no)
                        filter (where i.failure is not null), '[]'::jsonb) as failures
          from generate_series(0, $6::integer - 1) as n (no)
          -- Finds item by item by the key. A join could be planned while no result is stored yet, and be quadratic.
          left join lateral (select x.result, x.failure from tenax.item_result x
                              where x.execution_id = $1 and x.step = $2 and x.item_no = n.no limit 1) as i on true) as r
    on conflict (execution_id, step) do update
   set state = excluded.state, waiting_for = 0, attempts = excluded.attempts, failure = excluded.failure,
       result = excluded.result, failures = excluded.failures
