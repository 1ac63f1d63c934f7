from privexplorer.ui import shell, study_page

shell.open_page("predictability")
study_page()
