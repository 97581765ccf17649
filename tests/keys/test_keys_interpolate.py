"""References between settings, as OmegaConf writes them."""

import pytest

from grpo_guard.configs.keys_interpolate import resolve
from grpo_guard.configs.values import Unresolved

DEFAULTS = {"a.b": 1, "a.c": "${a.b}", "a.d.e": "${..b}", "a.d.f": "x", "text": "n=${a.b}", "null": None}


def resolved(key, value, overrides=None):
    return resolve(key, value, overrides or {}, lambda path: DEFAULTS.get(path, ...))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        ("plain", "plain"),
        ("${a.b}", 1),
        ("${a.c}", 1),
        ("${.f}", "x"),
        ("${..b}", 1),
        ("${..c}-${.f}", "1-x"),
        ("${text}", "n=1"),
        ("${oc.select:a.b,5}", 1),
        ("${oc.select:no.such,5}", 5),
        ("${oc.select:no.such,-1e-3}", -0.001),
        ("${oc.select:no.such,False}", False),
        ('${oc.select:no.such,"~/models"}', "~/models"),
        ("${oc.select:no.such,[model,optimizer]}", ["model", "optimizer"]),
        ("${oc.select:no.such,{}}", {}),
        ("${oc.select:no.such,null}", None),
        ("${oc.select:no.such}", None),
        ("${oc.select:no.such,${a.b}}", 1),
        ("${null}", None),
    ],
)
def test_reference(value, expected):
    found = resolved("a.d.g", value)
    assert found == expected
    assert type(found) is type(expected)


def test_the_users_value_wins_and_may_itself_refer():
    assert resolved("x", "${a.c}", {"a.b": 3}) == 3
    assert resolved("x", "${a.b}", {"a.b": "${a.d.f}"}) == "x"
    assert resolved("x", "${a.b}", {"a.b": Unresolved("$N", ("N",))}) == Unresolved("$N", ("N",))


@pytest.mark.parametrize("value", ["${oc.env:HOME}", "${now:%Y}", "${no.such}", "log-${no.such}", "${unclosed"])
def test_what_only_the_run_decides_is_unresolved(value):
    assert isinstance(resolved("x", value), Unresolved)


def test_cycles_and_doubling_texts_end():
    doubling = {f"k{n}": f"${{k{n + 1}}}${{k{n + 1}}}" for n in range(60)}
    assert isinstance(resolved("x", "${x}", {"x": "${y}", "y": "${x}"}), Unresolved)
    assert isinstance(resolved("x", "${k0}", doubling), Unresolved)
