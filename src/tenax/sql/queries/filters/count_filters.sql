-- Counts the saved filters.
select count(*)::integer from tenax.saved_filter
