from privexplorer.ui import shell, study_page

shell.open_page("reproduce_predictability")
study_page()
