"""The command line: `python -m penstock`."""

from __future__ import annotations

import sys

from penstock._command_line import main

if __name__ == "__main__":
    sys.exit(main())
