from privexplorer.ui import shell
from privexplorer.ui.home import home

shell.open_page("home")
home()
