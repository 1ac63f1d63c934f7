"""What the server adds to Streamlit's answers: the chart's script comes with the page, and narrow windows are known.

Streamlit's pages load the library that draws charts (several megabytes) only when the first chart arrives, and the
browser then needs longer to read it than the server needed to compute the chart. A header of the page names that file,
so the browser fetches and reads it on another thread while it starts the page.

A page's script cannot ask how wide the window is. Browsers that know the hint ``Sec-CH-Viewport-Width`` say it with
each file that they fetch; a cookie carries it on to the session, before that begins.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from privexplorer.ui.shell import NARROW_COOKIE, PAGES

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

WITHOUT_CHART = ("home", "sources", "about")
NARROW = 600
"""Width of a window, in CSS pixels, below which pages are drawn as for a phone."""


def chart_script() -> str | None:
    """Return the address of the script that draws charts, relative to a page, or None where this version has none."""
    import streamlit

    static = Path(streamlit.__file__).parent / "static"
    found = sorted(static.glob("static/js/PlotlyChart.*.js"))
    return f"./{found[0].relative_to(static).as_posix()}" if len(found) == 1 else None


class EarlyChart:
    """Middleware that adds a ``Link`` header to the pages with a chart.

    Parameters
    ----------
    app
        The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        script = chart_script()
        self._link = f"<{script}>; rel=modulepreload; crossorigin".encode() if script else b""
        self._pages = {page.address for page in PAGES if page.id not in WITHOUT_CHART}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; a page's answer gets the header."""
        if scope["type"] != "http" or not self._link or scope["path"].rpartition("/")[2] not in self._pages:
            await self._app(scope, receive, send)
            return

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"link", self._link)]}
            await send(message)

        await self._app(scope, receive, answer)


class NarrowWindow:
    """Middleware that notes in a cookie whether the window is as narrow as a phone's.

    Parameters
    ----------
    app
        The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; answers ask for the window's width, and note it where it was told."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = dict(scope["headers"]).get(b"sec-ch-viewport-width", b"")
        more = [(b"accept-ch", b"Sec-CH-Viewport-Width")]
        if told.isdigit() and scope["path"].endswith("/host-config"):  # asked for right before a session begins
            age = b"86400" if int(told) < NARROW else b"0"
            more.append((b"set-cookie", NARROW_COOKIE.encode() + b"=1; Path=/; SameSite=Lax; Max-Age=" + age))

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self._app(scope, receive, answer)


__all__ = ["EarlyChart", "NarrowWindow", "chart_script"]
