"""Writes expected_by_hydra.json anew: what hydra-core and OmegaConf themselves make of every input in it.

Run with a Python that has hydra-core (the tests do not need it): python tests/readers/expected_by_hydra.py
To add an input, append `[input, null]` to a section and run this.
"""

import json
import math
import tempfile
import warnings
from pathlib import Path

import hydra
import omegaconf
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Sweep
from omegaconf import OmegaConf
from omegaconf._utils import get_yaml_loader

FILE = Path(__file__).with_suffix(".json")


class NestedSweep(Exception):
    pass


def encode(value):
    """JSON cannot tell inf, nan, and keys that are no text."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(child)] for key, child in value.items()]}
    if isinstance(value, list):
        return [encode(child) for child in value]
    if isinstance(value, (Sweep, Glob)):
        raise NestedSweep
    return value


def override(word):
    try:
        parsed = OverridesParser.create().parse_override(word)
        key = parsed.key_or_group + ("" if parsed.package is None else f"@{parsed.package}")
        result = {"key": key, "op": {1: "", 2: "+", 3: "++", 4: "~"}[parsed.type.value]}
        try:
            value = encode(parsed.value())
            return result | ({"sweep": True} if parsed.is_sweep_override() else {"value": value})
        except NestedSweep:
            return result | {"sweep": True}
    except Exception:
        return "refused"


def cli(word):
    try:
        return {"value": encode(OmegaConf.to_container(OmegaConf.from_cli([word]), resolve=False))}
    except Exception:
        return "refused"


def yaml_text(text):
    try:
        return {"value": encode(yaml.load(text, Loader=get_yaml_loader()))}
    except Exception:
        return "refused"


def interpolation(tree):
    """Leaf by leaf, because one leaf that cannot be resolved must not hide the others."""
    config = OmegaConf.create(tree)
    found = {}

    def walk(node, path):
        keys = range(len(node)) if OmegaConf.is_list(node) else list(node.keys())
        for key in keys:
            place = [*path, str(key)]
            try:
                child = node[key]
                if OmegaConf.is_config(child) and OmegaConf.is_interpolation(node, key):
                    child = OmegaConf.to_container(child, resolve=True)
                if OmegaConf.is_config(child):
                    walk(child, place)
                else:
                    found[".".join(place)] = encode(child)
            except Exception:
                found[".".join(place)] = "unresolved"

    walk(config, [])
    return found


def composition(case):
    """What Hydra composes from the files of the case, without resolving interpolations."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case["files"].items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        try:
            with initialize_config_dir(config_dir=folder, version_base="1.3"):
                config = compose("config", overrides=[f"{key}={value}" for key, value in case["choices"].items()])
            return {"value": encode(OmegaConf.to_container(config, resolve=False))}
        except Exception:
            return "refused"


SECTIONS = {
    "overrides": override,
    "cli": cli,
    "yaml": yaml_text,
    "interpolation": interpolation,
    "composition": composition,
}


def main():
    warnings.simplefilter("ignore")
    known = json.loads(FILE.read_text())
    lines = [f'"hydra-core": "{hydra.__version__}",\n"omegaconf": "{omegaconf.__version__}"']
    for section, run in SECTIONS.items():
        rows = [json.dumps([given, run(given)]) for given, _ in known[section]]
        lines.append(f'"{section}": [\n' + ",\n".join(rows) + "\n]")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
