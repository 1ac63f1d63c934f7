from privexplorer.ui import shell, study_page

shell.open_page("plan")
study_page()
