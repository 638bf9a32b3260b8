-- What operators act on: an item may have a policy of its own, and an execution knows those that were made from it.
alter table tenax.item
    -- The retry policy that an operator gave it. Null: that of its plan.
    add column policy jsonb;
create index execution_retry on tenax.execution (retry_of) where retry_of is not null;
