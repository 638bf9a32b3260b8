-- Returns an execution, its parent, and so on up to the root.
with recursive line (id, parent_id) as (
    select e.id, e.parent_id from tenax.execution e where e.id = $1::bigint
    union all
    select e.id, e.parent_id from line l join tenax.execution e on e.id = l.parent_id
)
select id from line
