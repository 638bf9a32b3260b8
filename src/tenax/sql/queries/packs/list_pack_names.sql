select name from tenax.pack order by name limit 1000
