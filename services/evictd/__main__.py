"""`python -m evictd` is the same as `evictd`."""

from evictd.cli import main

if __name__ == "__main__":
    main()
