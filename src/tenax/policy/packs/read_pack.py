"""Reads a whole pack from its archive: checks every path and every file, and computes its hash."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

from tenax.errors import Finding, InvalidDefinition, InvalidInput, TooLarge
from tenax.model.definition.tiers import ServerPolicy
from tenax.model.inputs.inputs import DefinitionLimits
from tenax.model.packs.action import ActionDefinition
from tenax.model.packs.archive import ArchivedFile, ContentHash, read_archive
from tenax.model.packs.manifest import Manifest
from tenax.model.packs.names import pack_name_fault, shown_path
from tenax.model.parse.action_file import PackFile, read_pack_file
from tenax.model.source.findings import MOST_FINDINGS, more_to_come, shorten
from tenax.policy.packs.check_action import load_action

MAX_ACTIONS = 500  # actions in one pack
MAX_ACTION_FILE = 64_000  # bytes of an action file, or of pack.yaml
PACK_FILES = ("pack.yaml", "pack.yml")
_FOLDER = "actions/"
_ENDINGS = (".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class PackLimits:
    """Limits the content of a pack."""

    size: int
    """The most bytes of all files together."""
    inputs: DefinitionLimits


@dataclass(slots=True)
class _Contents:
    """Collects what the files of an archive are."""

    executable: dict[str, bool] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    """The YAML files at the top and directly in `actions/`."""
    size: int = 0
    hash: ContentHash = field(default_factory=ContentHash)

    def take(self, one: ArchivedFile) -> None:
        digest, kept = hashlib.sha256(), bytearray()
        may_be_read = _may_be_read(one.path) and one.size <= MAX_ACTION_FILE
        for piece in one.pieces():
            digest.update(piece)
            if may_be_read:
                kept += piece
        if may_be_read:
            self.texts[one.path] = bytes(kept)
        self.executable[one.path] = one.executable
        self.size += one.size
        self.hash.add(one.path, digest.hexdigest(), executable=one.executable)


def read_pack(
    stream: BinaryIO, folder: str | None, server_retry: ServerPolicy, limits: PackLimits
) -> Manifest:
    """Reads a pack. `folder` is its name if its `pack.yaml` says none.

    Raises InvalidDefinition with all mistakes in its files, and InvalidInput or TooLarge for a wrong archive.
    """
    contents = _Contents()
    for one in read_archive(stream, limits.size):
        contents.take(one)
    about = _pack_file(contents)
    actions, policies = _read_actions(contents, server_retry, limits.inputs)
    return Manifest(
        name=_name_of(about, folder),
        hash=contents.hash.hexdigest(),
        version=about.version if about is not None else None,
        description=about.description if about is not None else None,
        files=len(contents.executable),
        size=contents.size,
        actions=actions,
        policies=policies,
    )


def _may_be_read(path: str) -> bool:
    return path.endswith(_ENDINGS) and posixpath.dirname(path) in ("", _FOLDER.rstrip("/"))


def _pack_file(contents: _Contents) -> PackFile | None:
    present = [path for path in PACK_FILES if path in contents.executable]
    if len(present) > 1:
        raise InvalidInput(f"the pack has {PACK_FILES[0]} and {PACK_FILES[1]}: keep one")
    return read_pack_file(_text(contents, present[0]), present[0]) if present else None


def _text(contents: _Contents, path: str) -> bytes:
    if path not in contents.texts:
        raise TooLarge(f"{shown_path(path)} has more than {MAX_ACTION_FILE:,} bytes")
    return contents.texts[path]


def _name_of(about: PackFile | None, folder: str | None) -> str:
    if about is not None and about.name is not None:
        return about.name
    if not folder:
        raise InvalidInput(
            "the pack has no name", remedy="write `name: NAME` in its pack.yaml, or name its folder"
        )
    if (fault := pack_name_fault(folder)) is not None:
        raise InvalidInput(
            f"the folder's name `{shorten(folder)}` {fault}", remedy="write `name: NAME` in a pack.yaml"
        )
    return folder


def _action_files(contents: _Contents) -> list[str]:
    """Returns the paths of the action files: those in `actions/`, or else those at the top."""
    listed = [path for path in sorted(contents.executable) if _may_be_read(path) and path not in PACK_FILES]
    within = [path for path in listed if path.startswith(_FOLDER)]
    found = within or listed
    if not found:
        raise InvalidInput(
            "the pack has no actions", remedy="put an action file such as actions/call.yaml into its folder"
        )
    if len(found) > MAX_ACTIONS:
        raise TooLarge(f"a pack has at most {MAX_ACTIONS} actions, and this one has {len(found)}")
    return found


def _read_actions(
    contents: _Contents, server_retry: ServerPolicy, limits: DefinitionLimits
) -> tuple[dict[str, ActionDefinition], dict[str, Mapping[str, object]]]:
    actions: dict[str, ActionDefinition] = {}
    files: dict[str, str] = {}
    policies: dict[str, Mapping[str, object]] = {}
    found: list[Finding] = []
    for path in _action_files(contents):
        try:
            action, policy = load_action(_text(contents, path), path, server_retry, limits)
        except InvalidDefinition as error:
            found += error.findings
            continue
        if action.name in actions:
            words = f"the name `{action.name}` is taken by {files[action.name]}"
            found.append(Finding(words, path="name", file=path))
        found += _entry_findings(action, path, contents)
        actions[action.name], files[action.name] = action, path
        policies[action.name] = policy.as_dict()
    if found:
        raise InvalidDefinition(
            [*found[:MOST_FINDINGS], *([more_to_come(None)] if len(found) > MOST_FINDINGS else [])]
        )
    return actions, policies


def _entry_findings(action: ActionDefinition, file: str, contents: _Contents) -> list[Finding]:
    """Returns a finding if what the action runs is not in the pack."""
    entry, key = action.entrypoint, "entrypoint"
    if isinstance(action.command, tuple) and "/" in (first := action.command[0]) and first[:1] != "/":
        entry, key = first.removeprefix("./"), "command"
    if entry is None:
        return []
    if ":" in entry:
        module = entry.partition(":")[0].replace(".", "/")
        if f"{module}.py" in contents.executable or f"{module}/__init__.py" in contents.executable:
            return []
        return [Finding(f"the pack has no module {module}.py", path=key, file=file)]
    if entry not in contents.executable:
        return [Finding(f"the pack has no file {shown_path(entry)}", path=key, file=file)]
    if (action.runtime == "process" or key == "command") and not contents.executable[entry]:
        words = (
            f"{shown_path(entry)} cannot be executed: set its executable bit (chmod +x), or name a runtime"
        )
        return [Finding(words, path=key, file=file)]
    return []
