from privexplorer.ui import shell, study_page

shell.open_page("reproduce_effects")
study_page()
