-- Returns a chunk of a content; null after the last one. Returns no row if there is no such content.
select k.data from tenax.pack_content c left join tenax.pack_chunk k on k.hash = c.hash and k.n = $2::integer
 where c.hash = $1::text
