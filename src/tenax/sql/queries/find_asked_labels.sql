-- The labels that work asks for.
select distinct labels from tenax.item where labels is not null limit 1000
