-- Returns the size of the database in bytes, and the version of PostgreSQL.
select pg_database_size(current_database()) as size, current_setting('server_version') as version
