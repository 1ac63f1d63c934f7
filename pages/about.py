from privexplorer.ui import shell
from privexplorer.ui.about import about

shell.open_page("about")
about()
