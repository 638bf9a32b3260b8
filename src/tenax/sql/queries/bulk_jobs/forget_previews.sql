-- Forgets previews that nobody started within $1 seconds, and of each actor all but the newest $2.
delete from tenax.bulk_job j
 using (select p.id, p.created_at, row_number() over (partition by p.actor order by p.id desc) as place
          from tenax.bulk_job p
         where p.state = 'preview') as p
 where j.id = p.id and j.state = 'preview'
   and (p.created_at < tenax.now() - make_interval(secs => $1::double precision) or p.place > $2::integer)
