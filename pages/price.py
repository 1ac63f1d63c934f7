from privexplorer.ui import shell, study_page

shell.open_page("price")
study_page()
