-- Lists dead letters, the newest failure first: those with one of the statuses $1 that fit a filter, beyond the letter
-- $2. Each status is read from the index by itself, and no more than the limit $3.
select {letter_columns}
  from unnest($1::text[]) as s (status)
 cross join lateral (
    select *
      from tenax.dead_letter l
     where l.status = s.status and :conditions
       and ($2::bigint is null
            or (l.last_at, l.item_id) < (select b.last_at, b.item_id from tenax.dead_letter b where b.item_id = $2))
     order by l.last_at desc, l.item_id desc
     limit $3::integer
 ) as l
 order by l.last_at desc, l.item_id desc
 limit $3::integer
