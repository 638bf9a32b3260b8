-- Counts the letters of a group by the time of their last failure without reading the letters.
drop index tenax.dead_letter_group;
create index dead_letter_group on tenax.dead_letter (fingerprint, status, last_at);
