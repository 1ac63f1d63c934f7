"""``privexplorer`` and ``python -m privexplorer``: the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        from privexplorer.cli import main as run

        code = run()
    except KeyboardInterrupt:  # before the command line could say so itself
        print("Stopped.", file=sys.stderr)
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
