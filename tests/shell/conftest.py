"""Every test reads a short script whose command `show` stands for the program that gets the arguments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grpo_guard.configs.shell import read_script
from grpo_guard.configs.values import Command, Script

Reader = Callable[..., Script]


@pytest.fixture
def read() -> Reader:
    def read_text(text: str, **options: object) -> Script:
        return read_script(text, "run.sh", **options)  # type: ignore[arg-type]

    return read_text


@pytest.fixture
def show(read: Reader) -> Callable[..., Command]:
    """The last `show` command of a script."""

    def last(text: str, **options: object) -> Command:
        return [command for command in read(text, **options).commands if command.argv[0].text == "show"][-1]

    return last


@pytest.fixture
def shown(show: Callable[..., Command]) -> Callable[..., list[str]]:
    """The arguments of the last `show` command."""

    def arguments(text: str, **options: object) -> list[str]:
        return [word.text for word in show(text, **options).argv[1:]]

    return arguments
