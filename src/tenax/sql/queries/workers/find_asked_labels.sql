-- The labels that work asks for, as far as the first items that have any go.
select distinct labels from (select labels from tenax.item where labels is not null order by id limit 5000) as x
