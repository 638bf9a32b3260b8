-- Lets only one transaction at a time count the running items of limits and add to them.
select pg_advisory_xact_lock(hashtextextended('tenax gates', 0))
