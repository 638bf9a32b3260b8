-- Lists the index by transactions of each partition of the log, and the number of ranges of 128 pages that are full.
select i.indexrelid::regclass::text as index, (pg_relation_size(i.indrelid) / (128 * current_setting('block_size')::bigint))::integer as ranges
  from pg_inherits p
  join pg_index i on i.indexrelid = p.inhrelid
 where p.inhparent = 'tenax.log_xid'::regclass
