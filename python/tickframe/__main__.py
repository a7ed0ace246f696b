"""`python -m tickframe` is the command `tickframe`, where the folder of commands is not on the path."""

import sys

from tickframe.cli import main

if __name__ == "__main__":
    sys.exit(main())
