select name, hash, manifest, installed_at, installed_by from tenax.pack order by name
