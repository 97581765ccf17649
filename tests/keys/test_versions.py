"""Order of versions and ranges, as pip sees them."""

import pytest

from grpo_guard.store.versions import in_range, is_final, is_version, parse, surely_in_range

ASCENDING = [
    "0.3.0.dev0", "0.3.0.dev1", "0.3.0a1", "0.3.0b2", "0.3.0rc1", "0.3.0rc2.dev1", "0.3.0rc2", "0.3.0",
    "0.3.0.post0", "0.3.0.post1", "0.3.1", "0.10.0", "1.0.0rc1", "1.0.0", "1!0.1",
]  # fmt: skip
SHUFFLED = [*ASCENDING[1::2], *ASCENDING[::2]]


def test_versions_sort_like_releases():
    assert sorted(SHUFFLED, key=parse) == ASCENDING


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.2", "0.2.0"),
        ("v0.8.0", "0.8.0"),
        ("2.6.0+cu121", "2.6.0"),
        ("1.0.0-rc.1", "1.0.0rc1"),
        ("1.0.0c1", "1.0.0rc1"),
        ("0.3.0-1", "0.3.0.post1"),
        ("0.8.0.dev", "0.8.0.dev0"),
        (" 0.9.1 ", "0.9.1"),
        ("0.8.5.POST1", "0.8.5.post1"),
    ],
)
def test_spellings_of_one_version(one, other):
    assert parse(one) == parse(other)


@pytest.mark.parametrize("text", ["", "main", "latest", "0.8.x", "1..2", "1.0 beta 2 x", "0.8;rm", "1" * 200, "==0.8"])
def test_what_is_no_version(text):
    assert not is_version(text)
    with pytest.raises(ValueError, match="not a version"):
        parse(text)


@pytest.mark.parametrize(
    ("version", "clauses", "expected"),
    [
        ("0.7.1", ">=0.7.1,<0.9.0", True),
        ("0.8.0.dev0", ">=0.7.1,<0.9.0", True),
        ("0.9.0rc1", ">=0.7.1,<0.9.0", True),
        ("0.9.0", ">=0.7.1,<0.9.0", False),
        ("0.9.0.post1", "<=0.9.0", False),
        ("0.7.0", ">= 0.7.1 , < 0.9.0", False),
        ("1.0.0", "", True),
        ("1.0", "==1.0.0", True),
        ("1.0", "1.0.0", True),
        ("1.0.1", "!=1.0.0", True),
        ("2.6.0+cu121", ">2.5,<=2.6", True),
    ],
)
def test_ranges(version, clauses, expected):
    assert in_range(version, clauses) is expected


def test_a_malformed_range_is_an_error():
    with pytest.raises(ValueError, match="not a version"):
        in_range("1.0", ">=main")


def test_final_releases():
    assert [is_final(version) for version in ("1.0", "1.0.post1", "1.0rc1", "1.0.dev0", "1.0.post1.dev2")] == [
        True, True, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("version", "clauses", "answer"),
    [
        ("0.8.0.dev", ">=0.7.1,<0.8.0", None),  # the line towards 0.8.0 began before the fault came in
        ("0.8.0.dev", "<0.8.0", None),  # fixed somewhere on the way to 0.8.0
        ("0.8.0.dev", ">=0.7.0", True),
        ("0.8.0.dev", "<0.9.0", True),
        ("0.8.0.dev", ">=0.8.1", False),
        ("0.8.0.dev20260129", "<0.7.0", False),
        ("0.19.3.dev0", ">=0.19.2", True),
        ("1.0.0.dev0", ">=0.9.0", None),  # which release came before is not known
        ("0.8.0rc1", "<0.8.0", True),
        ("0.7.1", ">=0.7.1,<0.8.0", True),
    ],
)
def test_a_development_build_may_lie_on_either_side_of_a_bound(version: str, clauses: str, answer: bool | None) -> None:
    assert surely_in_range(version, clauses) is answer
