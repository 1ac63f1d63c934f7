"""The router: frame and navigation, nothing else. Start it with ``privexplorer``."""

from privexplorer.ui import shell

shell.run()
