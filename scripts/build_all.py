"""Everything that is generated from knowledge/, in the order in which one part needs another.

python scripts/build_all.py            write
python scripts/build_all.py --check    exit 1 when something is stale
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SCRIPTS = ("build_notes.py", "build_index.py", "build_signals.py", "build_diagnosis.py", "build_docs.py")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="only compare; exit 1 when something is stale")
    arguments = ["--check"] if parser.parse_args().check else []
    return max(
        subprocess.run([sys.executable, FOLDER / script, *arguments], check=False).returncode for script in SCRIPTS
    )


if __name__ == "__main__":
    sys.exit(main())
