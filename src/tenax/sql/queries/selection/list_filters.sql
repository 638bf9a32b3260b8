-- Lists the saved filters, all of them or those with these names.
select name, filter, actor, saved_at
  from tenax.saved_filter
 where $1::text[] is null or name = any($1)
 order by name
