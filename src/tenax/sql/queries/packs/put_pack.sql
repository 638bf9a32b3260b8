-- Makes this content the one that a pack's name means. Returns the content that it meant before.
with before as (
    select hash from tenax.pack where name = $1::text for update
), released as (
    update tenax.pack_content c set released_at = tenax.now() from before b where c.hash = b.hash and b.hash <> $2::text
), put as (
    insert into tenax.pack (name, hash, manifest, installed_by) values ($1, $2, $3::jsonb, $4::text)
        on conflict (name) do update
       set hash = excluded.hash, manifest = excluded.manifest, installed_at = tenax.now(),
           installed_by = excluded.installed_by
)
select (select hash from before)
