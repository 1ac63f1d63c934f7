"""The pages' machinery: form from a scenario, link, run with progress, result on screen.

The only package that imports Streamlit.
"""

from __future__ import annotations

from privexplorer.ui import table as table  # registers the form of a table and its column
from privexplorer.ui.study_page import study_page

__all__ = ["study_page"]
