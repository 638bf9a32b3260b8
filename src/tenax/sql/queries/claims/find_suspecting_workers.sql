-- Finds the workers that run a suspect now.
select distinct worker from tenax.item where suspect and state = 'leased' and worker = any($1::text[])
