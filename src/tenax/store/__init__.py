"""The only speaker of SQL: connections, the embedded PostgreSQL, migrations, and the statements of each verb."""
