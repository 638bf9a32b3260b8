select distinct name from tenax.workflow order by name limit 1000
