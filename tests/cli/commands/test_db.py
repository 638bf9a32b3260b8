"""`tenax db` and `tenax token`."""

from __future__ import annotations

import asyncio

import asyncpg


def test_migrate_and_status(command, empty_database_url):
    before = command("db", "status", "--database", empty_database_url, "--json")
    assert (before.code, before.err) == (0, "")
    assert (before.json["schema"], before.json["schema_version"], before.json["embedded"]) == (
        "pending",
        0,
        False,
    )
    applied = command("db", "migrate", "--database", empty_database_url)
    assert applied.code == 0
    assert applied.out.startswith("applied 0001_initial\n")
    after = command("db", "status", "--database", empty_database_url, "--json").json
    assert (after["schema"], after["pending"]) == ("current", [])
    assert after["schema_version"] == after["latest_version"] > 0
    assert after["size"] > 1_000_000
    again = command("db", "migrate", "--database", empty_database_url)
    assert again.out == f"the schema is current (version {after['latest_version']}): nothing to do\n"
    words = command("db", "status", "--database", empty_database_url).out
    assert "\nschema            current\n" in words


def test_a_newer_schema_is_refused(command, database_url):
    async def pretend() -> None:
        connection = await asyncpg.connect(database_url)
        await connection.execute("insert into tenax.schema_migration values (9999, '9999_future', 'x')")
        await connection.close()

    asyncio.run(pretend())
    for arguments in (("db", "migrate"), ("list",)):
        ended = command(*arguments, TENAX_DATABASE_URL=database_url)
        assert (ended.code, ended.out) == (3, "")
        assert "9999_future" in ended.err
    status = command("db", "status", "--json", TENAX_DATABASE_URL=database_url).json
    assert (status["schema"], status["unknown"]) == ("unknown", ["9999_future"])


def test_the_url_in_use(command, database_url):
    assert command("db", "url", "--database", database_url).out == f"{database_url}\n"
    assert command("db", "url", "--json", TENAX_DATABASE_URL=database_url).json == {
        "url": database_url,
        "embedded": False,
    }


def test_the_embedded_database_starts_for_a_command_and_ends_with_it(command, open_folder):
    home = str(open_folder / "home")
    ended = command("db", "status", "--json", "--home", home)
    assert (ended.code, ended.err) == (0, "")
    assert (ended.json["embedded"], ended.json["running"], ended.json["schema"]) == (True, False, "current")
    url = command("db", "url", "--home", home)
    assert url.out.startswith("postgresql://tenax@/tenax?host=")
    assert url.err == "", "it is there already"
    assert not list(open_folder.rglob("postmaster.pid"))


def test_a_new_home_is_told_of_once(command, open_folder):
    home = str(open_folder / "home")
    first, second = (command("list", "--home", home) for _ in range(2))
    assert (first.code, first.out, first.err) == (0, "no executions\n", f"making a new database in {home}\n")
    assert (second.code, second.err) == (0, "")


def test_tokens(command, database_url):
    def token(*arguments):
        return command("token", *arguments, TENAX_DATABASE_URL=database_url)

    assert token("list").out == (
        "no tokens: a server makes one for its user when it starts; with --open it accepts everyone on its machine\n"
    )
    made = token("create", "ci", "--role", "operator", "--json")
    assert (made.code, made.err) == (0, "")
    assert made.json["token"].startswith("tenax_")
    assert (made.json["name"], made.json["role"]) == ("ci", "operator")
    bare = token("create", "dash", "--role", "viewer").out
    assert bare.startswith("tenax_")
    assert bare.count("\n") == 1
    listed = token("list", "--json")
    assert [(row["name"], row["role"], row["revoked_at"]) for row in listed.json] == [
        ("ci", "operator", None),
        ("dash", "viewer", None),
    ]
    assert made.json["token"] not in listed.out
    assert token("revoke", "ci").out == f"token {made.json['id']} (ci) is revoked\n"
    assert [row["name"] for row in token("list", "--json").json] == ["dash"]
    assert [row["revoked_at"] is None for row in token("list", "--all", "--json").json] == [False, True]
    assert (len(token("list").out.splitlines()), len(token("list", "--all").out.splitlines())) == (2, 3)
    token("revoke", "dash")
    assert token("list").out.startswith("no valid tokens (--all lists the revoked ones): ")


def test_tokens_that_cannot_be(command, database_url):
    def token(*arguments, **more):
        return command("token", *arguments, TENAX_DATABASE_URL=database_url, **more)

    assert (token("revoke", "nobody").code, token("create", "x", "--role", "king").code) == (2, 2)
    token("create", "x", "--role", "viewer")
    twice = token("create", "x", "--role", "viewer")
    assert (twice.code, twice.out) == (2, "")
    assert twice.err.startswith("tenax: there is a token named 'x' already\n")


def test_no_token_is_made_in_the_wrong_database(command, tmp_path):
    ended = command("token", "create", "x", "--role", "viewer", TENAX_SERVER="http://127.0.0.1:1")
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.startswith("tenax: cannot reach the server at http://127.0.0.1:1")
    assert not (tmp_path / "home").exists()
