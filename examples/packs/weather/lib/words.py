"""Puts reports into words."""


def summary(reports: list[dict]) -> str:
    return ", ".join(f"{one['station']} {one['temperature']:g} {one['unit']}" for one in reports)
