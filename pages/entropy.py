from privexplorer.ui import shell, study_page

shell.open_page("entropy")
study_page()
