-- Returns the content that each of these names means now. Unknown names are left out.
select name, hash from tenax.pack where name = any ($1::text[])
