"""The one entry point of this package: a text of any format and a change → the new text."""

from __future__ import annotations

from .change import Change, NotEditable


def edit_text(text: str, format: str, change: Change) -> str:
    """The text (without byte order mark) with one change made; all else stays as it is, to the byte.

    format: as in `Report.sources`. Raises NotEditable, also for formats that are not edited.
    """
    if format == "shell":
        from .shell_edits import edit_shell as edit
    elif format == "yaml":
        from .yaml_edits import edit_yaml as edit
    elif format == "json":
        from .json_edits import edit_json as edit
    elif format == "toml":
        from .toml_edits import edit_toml as edit
    elif format == "python":
        from .python_edits import edit_python as edit
    else:
        raise NotEditable(f"files of the format {format} are not edited")
    return edit(text, change)
