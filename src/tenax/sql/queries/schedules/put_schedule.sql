-- Creates a schedule, or replaces what is declared of it. Whether it is paused, and its runs, stay. Returns whether it is new.
insert into tenax.schedule as old (name, workflow, spec, declared, next_tick, look_at)
values ($1::text, $2::text, $3::jsonb, $4::boolean, $5::timestamptz, $6::timestamptz)
    on conflict (name) do update
   set workflow = excluded.workflow, spec = excluded.spec, declared = excluded.declared, next_tick = excluded.next_tick,
       look_at = case when old.paused_at is null then excluded.look_at end, waiting = '[]'
returning xmax = 0
