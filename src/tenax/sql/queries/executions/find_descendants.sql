-- Returns an execution and its descendants, in the order in which they are locked.
with recursive tree (id) as (
    select $1::bigint
    union all
    select c.id from tree t join tenax.execution c on c.parent_id = t.id
)
select id from tree order by id
