"""The command line."""


def main() -> None:
    raise SystemExit(2)
