-- Finds the labels that work asks for, among the first items that have any.
select distinct labels from (select labels from tenax.item where labels is not null order by id limit 5000) as x
