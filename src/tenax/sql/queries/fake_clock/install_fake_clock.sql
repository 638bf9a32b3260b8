-- Stops the clock until a test sets it. For tests only.
create table if not exists tenax.fake_clock (at timestamptz not null);
truncate tenax.fake_clock;
insert into tenax.fake_clock values (statement_timestamp());
create or replace function tenax.now() returns timestamptz
    language sql stable parallel safe
    as $$ select at from tenax.fake_clock $$;
create or replace function tenax.clock() returns timestamptz
    language sql volatile parallel safe
    as $$ select at from tenax.fake_clock $$;
