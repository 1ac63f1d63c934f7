from privexplorer.ui import shell, study_page

shell.open_page("unseen")
study_page()
