"""Secrets in what is quoted: keys, tokens and passwords are masked wherever a config or a log is shown.

Two signs are used: the shape of the value (the prefixes that issuers give their tokens) and the name before it. A name
such as `max_tokens`, `pad_token` or `tokenizer` is none: masking those would hide what the answer is about.
"""

from __future__ import annotations

import re
from typing import Any

MASK = "***"

# One of these stands in every text that has a secret; most texts have none, and are not looked at further.
_MARKS = re.compile(
    r"key|token|secret|passw|pwd|credential|bearer|basic |auth|cookie|session|://|hf_|sk-|gh[pousr]_|github_|glpat|"
    r"xox|AKIA|ASIA|AIza|eyJ|wandb|npm_|pypi-|dckr_|ya29|r8_|nvapi|gsk_|PRIVATE|sig=|[0-9a-f]{40}",
    re.IGNORECASE,
)

# Tokens that can be told from their shape, whatever stands before them.
_SHAPES = re.compile(
    r"""\b(?:
      hf_(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{8,} | api_org_[A-Za-z0-9]{8,}
    | sk-[A-Za-z0-9_-]{12,} | gsk_[A-Za-z0-9]{12,} | nvapi-[\w-]{12,} | r8_[A-Za-z0-9]{12,}
    | gh[pousr]_[A-Za-z0-9]{12,} | github_pat_\w{12,} | glpat-[\w-]{12,}
    | xox[abeprs]-[\w-]{8,} | (?:AKIA|ASIA)[A-Z0-9]{12,} | AIza[\w-]{20,} | ya29\.[\w-]{12,}
    | npm_[A-Za-z0-9]{12,} | pypi-[\w-]{16,} | dckr_pat_[\w-]{8,} | wandb_v\d_\w{12,}
    | eyJ[\w-]{8,2000}\.[\w-]{8,}(?:\.[\w-]*)?
    )""",
    re.VERBOSE,
)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", re.DOTALL
)
_IN_URL = re.compile(r"(?<=://)([^\s/@:'\"]*):([^\s/@'\"]+)@")  # user:password@host
_USER_TOKEN_IN_URL = re.compile(r"(?<=://)[^\s/@:'\"]{16,}@")  # token@host
_SCHEME = re.compile(r"\b(Bearer|Basic)(\s+)(?!auth|token|realm)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)

_NAMES = (
    r"api[_-]?keys?|apikey|access[_-]?keys?(?:[_-]?id)?|secret[_-]?keys?|private[_-]?keys?|signing[_-]?keys?|"
    r"account[_-]?keys?|(?:wandb|swanlab|openai|anthropic|aws|azure|comet|mlflow|neptune)[_-]?key|"
    r"secrets?|client[_-]?secret|passwd|password|passphrase|pwd|credentials?|authorization|cookie|"
    r"(?:hf|hub|hugging_?face(?:_?hub)?|github|gh|gitlab|wandb|swanlab|auth|access|api|refresh|session|bearer|"
    r"bot|slack|service|login|security|registry|deploy|user|admin|github_pat|modelscope|trackio)[_-]?tokens?|"
    r"(?:x-amz-)?signature|sig"
)
_NAME = re.compile(rf"(?:(?:^|[._\-/@\s])(?:{_NAMES})|(?:^-*|[./@\s])token)$", re.IGNORECASE)
_WANDB_LOGIN = re.compile(r"\b(wandb[ ._-]login\b[^\n]{0,60}?)\b[0-9a-f]{40}\b")
# NAME=value, NAME: value, "NAME": "value", name -> value
_PAIR = re.compile(
    rf"""(?P<name>(?:(?<![A-Za-z0-9/])|(?<=_))(?:{_NAMES}|(?<![A-Za-z0-9_/])token)["']?)
    (?P<between>\s{{0,5}}(?:=>|->|:=|[=:])\s{{0,5}})
    (?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(?:(?:Bearer|Basic|Token)\s+)?[^\s,;&|"'<>)\]}}]+)""",
    re.VERBOSE | re.IGNORECASE,
)
# --name value
_FLAG = re.compile(
    rf"((?<![\w-])--[\w.-]{{0,60}}?(?:{_NAMES}|token)\s+)(?![-$])[\"']?[^\s\"']{{6,}}[\"']?", re.IGNORECASE
)  # --name value
# What is no secret even after such a name: a reference, a switch, a placeholder, nothing.
_HARMLESS = re.compile(
    r"(?:\$.*|true|false|null|none|yes|no|on|off|auto|unset|missing|required|invalid|\*+|x{3,}|your[\w-]*|<.*|\[.*|"
    r"\{.*|unknown|os\.environ.*|os\.getenv.*|)",
    re.IGNORECASE | re.DOTALL,
)


def mask(text: str) -> str:
    """The text with every secret in it replaced by ***."""
    if not _MARKS.search(text):
        return text
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _IN_URL.sub(rf"\1:{MASK}@", text)
    text = _USER_TOKEN_IN_URL.sub(f"{MASK}@", text)
    text = _PAIR.sub(_masked_pair, text)
    text = _FLAG.sub(rf"\1{MASK}", text)
    text = _WANDB_LOGIN.sub(rf"\1{MASK}", text)
    text = _SCHEME.sub(rf"\1\2{MASK}", text)
    return _SHAPES.sub(MASK, text)


def masked_value(name: str, value: Any) -> Any:
    """The value of a setting: *** when the name is a secret's and the value is more than a switch or a reference."""
    if not isinstance(value, str | int) or isinstance(value, bool) or not _NAME.search(name):
        return value
    return value if _harmless(name, str(value).strip()) else MASK


def _harmless(name: str, value: str) -> bool:
    """`token: mean` is a way to average: after the bare name a plain word or number is no secret."""
    word = name.lower().endswith("token") and (value.isdecimal() or (value.isalpha() and len(value) < 16))
    return bool(_HARMLESS.fullmatch(value)) or (word and not name.lower().endswith("_token"))


def _masked_pair(match: re.Match[str]) -> str:
    value = match["value"]
    quote = value[0] if value[:1] in "\"'" else ""
    inner = value[1:-1] if quote and len(value) > 1 else value
    if _harmless(match["name"].strip("\"'"), inner):
        return match[0]
    return f"{match['name']}{match['between']}{quote}{MASK}{quote}"
