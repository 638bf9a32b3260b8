"""Speaks SQL, as the only package: connections, the embedded PostgreSQL, migrations, and the statements of each operation."""
