-- Deletes contents that no installed pack has, that were released at least $1 seconds ago, and that no open execution uses.
-- Returns their hashes.
delete from tenax.pack_content c
 where c.released_at < tenax.now() - make_interval(secs => $1::double precision)
   and not exists (select from tenax.pack k where k.hash = c.hash)
   and not exists (
       select from tenax.execution x join tenax.plan p on p.id = x.plan_id
        where x.state in ('running', 'paused') and p.packs @> array[c.hash])
returning c.hash
