"""`python -m opsdist_cli` is `opsdist`."""

from opsdist_cli.main import main

if __name__ == "__main__":
    main()
