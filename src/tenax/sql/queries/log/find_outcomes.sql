-- Returns the events of transactions in which an event names one of these tokens, as one array for each: the end of an
-- attempt, or a late report. Only the newest rows of each execution are searched, up to $3 rows and $4 bytes, because
-- this runs under the execution's lock.
select l.events
  from unnest($1::bigint[]) as x (id)
 cross join lateral (
    select r.id, r.events, sum(octet_length(r.events)) over (order by r.id desc) - octet_length(r.events) as newer
      from tenax.log r
     where r.execution_id = x.id
     order by r.id desc
     limit $3::bigint
 ) as l
 where l.newer < $4::bigint
   and case when cardinality($2::text[]) <= 8
            then exists (select from unnest($2::text[]) as t (token) where strpos(l.events, t.token) > 0)
            else exists (select from jsonb_array_elements(l.events::jsonb) as e where e ->> 'token' = any($2::text[]))
       end
 order by l.id
