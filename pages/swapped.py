from privexplorer.ui import shell, study_page

shell.open_page("swapped")
study_page()
