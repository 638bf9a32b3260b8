-- Lists the actors and the actions that occur, by steps through the two indexes: one step for each name, whatever the
-- number of entries.
with recursive actor as (
    (select a.actor as name from tenax.audit a order by a.actor limit 1)
    union all
    select (select a.actor from tenax.audit a where a.actor > p.name order by a.actor limit 1) from actor p where p.name is not null
), action as (
    (select a.action as name from tenax.audit a order by a.action limit 1)
    union all
    select (select a.action from tenax.audit a where a.action > p.name order by a.action limit 1) from action p where p.name is not null
)
(select 'actor' as what, name from actor where name is not null limit $1::integer)
union all
(select 'action', name from action where name is not null limit $1::integer)
