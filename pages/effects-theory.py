from privexplorer.ui import shell, study_page

shell.open_page("effects_theory")
study_page()
