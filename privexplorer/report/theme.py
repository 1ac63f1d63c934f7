"""The app's theme, for what is drawn without a browser that themes it."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Literal

import privexplorer
from privexplorer.errors import DataError


@cache
def theme_colours(name: Literal["light", "dark"] = "light") -> dict[str, Any]:
    """Return one section of the theme: colours by their names.

    It is read from the configuration that the app uses, in the checkout first, else inside the installed package.

    Raises
    ------
    DataError
        If the installation lacks it.
    """
    package = Path(privexplorer.__file__).parent
    for home in (package.parent, package / "_app"):
        path = home / ".streamlit" / "config.toml"
        if path.is_file():
            section: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")).get("theme", {}).get(name, {})
            if "chartCategoricalColors" in section:
                return section
    raise DataError("This installation lacks its theme; install the package again.")


__all__ = ["theme_colours"]
