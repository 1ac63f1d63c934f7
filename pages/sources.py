from privexplorer.ui import shell
from privexplorer.ui.sources import sources

shell.open_page("sources")
sources()
