"""`python -m eosctl`."""

from eosctl.cli import main

if __name__ == "__main__":
    main()
