"""`python -m kvlab`: the `kvlab` command, also where its script is not on the PATH."""

from kvlab.cli.main import main

raise SystemExit(main())
