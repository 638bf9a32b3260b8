"""Tests archives of packs: only plain files come through, and the hash is that of the content."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.packs import member, packed, tar_of

from tenax.errors import InvalidInput, TooLarge
from tenax.model.packs import archive
from tenax.model.packs.archive import ContentHash, PackedFile, read_archive, write_archive
from tenax.model.packs.names import is_action_ref, path_fault

MOST = 1_000_000


def contents(data: bytes, most: int = MOST) -> dict[str, tuple[bool, bytes]]:
    return {
        one.path: (one.executable, b"".join(one.pieces())) for one in read_archive(io.BytesIO(data), most)
    }


def hash_of(data: bytes) -> str:
    found = ContentHash()
    for one in read_archive(io.BytesIO(data), MOST):
        digest = hashlib.sha256(b"".join(one.pieces())).hexdigest()
        found.add(one.path, digest, executable=one.executable)
    return found.hexdigest()


def test_files_come_back_as_they_were() -> None:
    files = {"b/c.py": "x" * 3_000, "a": "", "ä ö.txt": "y"}
    data = packed(files, executable=("a",))
    assert contents(data) == {
        "a": (True, b""),
        "b/c.py": (False, b"x" * 3_000),
        "ä ö.txt": (False, b"y"),
    }


def test_the_same_files_give_the_same_archive() -> None:
    one, two = PackedFile("a", False, b"1"), PackedFile("b", True, b"2")
    assert write_archive([one, two]) == write_archive([two, one])


def test_the_hash_is_of_paths_contents_and_executable_bits() -> None:
    data = packed({"a": "1", "b": "2"})
    assert hash_of(data) == hash_of(packed({"b": "2", "a": "1"}))
    with_folder = tar_of(member("./d/", tarfile.DIRTYPE), member("./a"))
    assert hash_of(with_folder) == hash_of(packed({"a": "x"}))
    others = [packed({"a": "1"}), packed({"a": "2", "b": "1"}), packed({"a": "1", "c": "2"})]
    others.append(packed({"a": "1", "b": "2"}, executable=("b",)))
    assert len({hash_of(data), *map(hash_of, others)}) == 5


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (member("../x"), "leads out of the pack"),
        (member("a/../../x"), "leads out of the pack"),
        (member("/etc/passwd"), "is not relative to the folder of the pack"),
        (member("~/x"), "is not relative to the folder of the pack"),
        (member("a\\..\\x"), "which paths in a pack cannot have"),
        (member("a\nb"), "which paths in a pack cannot have"),
        (member("C:x"), "which paths in a pack cannot have"),
        (member("a/./b"), "is not written plainly"),
        (member("-rf"), "begins with `-`"),
        (member("a /b"), "a blank at an end"),
        (member("x" * 300), "is longer than 240 bytes"),
        (member("../d", tarfile.DIRTYPE), "leads out of the pack"),
        (member("a", tarfile.SYMTYPE, "/etc/passwd"), "`a` is a symbolic link"),
        (member("a", tarfile.SYMTYPE, "b"), "`a` is a symbolic link"),
        (member("a", tarfile.LNKTYPE, "b"), "`a` is a hard link"),
        (member("a", tarfile.CHRTYPE), "`a` is a device"),
        (member("a", tarfile.BLKTYPE), "`a` is a device"),
        (member("a", tarfile.FIFOTYPE), "`a` is a pipe"),
        (member("a", tarfile.GNUTYPE_SPARSE), "other than a file"),
    ],
)
def test_what_is_no_plain_file_is_refused(found: tarfile.TarInfo, expected: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        contents(tar_of(found))
    assert expected in str(raised.value) or "not a readable archive" in str(raised.value)
    if found.type != tarfile.GNUTYPE_SPARSE:
        assert expected in str(raised.value)


@pytest.mark.parametrize("names", [("a", "a"), ("a", "./a"), ("a", "a/b"), ("a/b", "a")])
def test_a_name_stands_once(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInput, match="twice"):
        contents(tar_of(*map(member, names)))


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert contents(packed({"a": "x" * 10}), 10)
    with pytest.raises(TooLarge, match=r"at most 9 bytes in its files \(max_pack\)"):
        contents(packed({"a": "x" * 5, "b": "x" * 5}), 9)
    monkeypatch.setattr(archive, "MAX_FILES", 2)
    with pytest.raises(TooLarge, match="at most 2 files"):
        contents(packed({"a": "", "b": "", "c": ""}))


@pytest.mark.parametrize("data", [b"", b"no tar at all" * 100, packed({"a": "x" * 3_000})[:1_500]])
def test_what_is_no_archive_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidInput, match="not a readable archive") as raised:
        contents(data)
    assert "tenax pack install FOLDER" in str(raised.value.remedy)


@given(st.binary(max_size=2_000))
def test_any_bytes_are_read_or_refused(noise: bytes) -> None:
    whole = bytearray(packed({"actions/a.yaml": "name: a", "b": "x"}))
    for place, one in enumerate(noise):
        whole[(place * 7) % 1_500] ^= one
    for data in (noise, bytes(whole)):
        try:
            found = contents(data)
        except (InvalidInput, TooLarge):
            continue
        assert all(path_fault(path) is None for path in found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b", True),
        ("core.http-get", True),
        ("a", False),
        ("a.b.c", False),
        (".b", False),
        ("a.", False),
        ("-a.b", False),
        ("a.b\n", False),
        ("../a.b", False),
        ("x" * 65 + ".b", False),
        ("a." + "x" * 101, False),
    ],
)
def test_references(text: str, expected: bool) -> None:
    assert is_action_ref(text) is expected
