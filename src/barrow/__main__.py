"""``python -m barrow`` is the same as the ``barrow`` command."""

from barrow.cli.main import main

if __name__ == "__main__":
    main()
