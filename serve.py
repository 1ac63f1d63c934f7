"""The server: ``app.py`` behind what ``privexplorer.ui.serving`` adds. ``privexplorer`` starts it."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from privexplorer.ui.serving import EarlyChart, NarrowWindow

app = App(Path(__file__).with_name("app.py"), middleware=[Middleware(EarlyChart), Middleware(NarrowWindow)])
