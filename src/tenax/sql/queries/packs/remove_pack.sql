-- Removes a pack. Returns its content, or no row if there is no such pack.
with removed as (
    delete from tenax.pack where name = $1::text returning hash
), released as (
    update tenax.pack_content c set released_at = tenax.now() from removed r where c.hash = r.hash
)
select hash from removed
