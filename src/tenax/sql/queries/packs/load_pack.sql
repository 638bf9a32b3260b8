select name, hash, manifest, installed_at, installed_by from tenax.pack where name = $1::text
