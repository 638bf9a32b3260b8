-- Whoever counts what runs under a limit, and adds to it, does so alone.
select pg_advisory_xact_lock(hashtextextended('tenax gates', 0))
