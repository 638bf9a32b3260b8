"""Runs the command `tenax` as `python -m tenax`."""

from tenax.cli import main

if __name__ == "__main__":
    main()
