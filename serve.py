"""The server: ``app.py`` behind one layer that names the chart's script early. ``privexplorer`` starts it."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from privexplorer.ui.serving import EarlyChart

app = App(Path(__file__).with_name("app.py"), middleware=[Middleware(EarlyChart)])
