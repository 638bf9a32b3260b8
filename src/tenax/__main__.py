"""`python -m tenax`: the same as the command `tenax`."""

from tenax.cli import main

if __name__ == "__main__":
    main()
