"""The toolbar above a chart: image as PNG or SVG, zoom, reset; shown on hover."""

from __future__ import annotations

import re
from typing import Any, Literal

SPARE_BUTTONS = (
    "pan2d",
    "zoomIn2d",
    "zoomOut2d",
    "autoScale2d",
    "select2d",
    "lasso2d",
    "toggleSpikelines",
    "hoverClosestCartesian",
    "hoverCompareCartesian",
    "sendChartToCloud",
)


def config(name: str = "privexplorer", image: Literal["png", "svg"] = "png") -> dict[str, Any]:
    """Return the configuration of Plotly's toolbar, for ``st.plotly_chart(config=...)`` and for reports.

    Parameters
    ----------
    name : str
        Name of the image files, such as the study's id.
    image : {"png", "svg"}
        What the camera button saves. The other format has a button of its own where :data:`SVG_BUTTON` runs.
    """
    return {
        "displayModeBar": "hover",
        "displaylogo": False,
        "showSendToCloud": False,
        "modeBarButtonsToRemove": list(SPARE_BUTTONS),
        "toImageButtonOptions": {"format": image, "filename": file_name(name), "scale": 2},
        "doubleClick": "reset",
        "scrollZoom": False,
        "showTips": False,
        "responsive": True,
    }


def file_name(text: str) -> str:
    """Turn a text into a file name without a suffix.

    Examples
    --------
    >>> file_name("Error of the estimate, draft"), file_name("///")
    ('error-of-the-estimate-draft', 'privexplorer')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "privexplorer"


SVG_BUTTON = """
(() => {
  if (window.privexplorerSvgButton) return;
  window.privexplorerSvgButton = true;
  const save = (chart, camera) => {
    const options = chart._context.toImageButtonOptions;
    const format = options.format;
    options.format = "svg";
    try { camera.click(); } finally { options.format = format; }
  };
  const add = () => {
    for (const chart of document.querySelectorAll(".js-plotly-plot")) {
      const camera = [...chart.querySelectorAll(".modebar-btn")].find(
        (button) => /PNG/.test(button.getAttribute("data-title") || ""));
      if (!camera || camera.parentNode.querySelector("[data-svg]")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "modebar-btn";
      button.setAttribute("rel", "tooltip");
      button.setAttribute("data-svg", "true");
      button.setAttribute("data-gravity", "n");
      button.setAttribute("data-title", "Download plot as an SVG");
      button.setAttribute("aria-label", "Download plot as an SVG");
      const make = (tag, attributes) => {
        const part = document.createElementNS("http://www.w3.org/2000/svg", tag);
        for (const [name, value] of Object.entries(attributes)) part.setAttribute(name, value);
        return part;
      };
      const ink = camera.querySelector("path");
      const icon = make("svg", { class: "icon", viewBox: "0 0 24 24", height: "1em", width: "1em" });
      icon.append(make("path", {
        d: "M12 15.5 6.5 10l1.4-1.4 3.1 3.1V3h2v8.7l3.1-3.1L17.5 10zM4 21v-5h2v3h12v-3h2v5z",
        style: `fill: ${ink ? getComputedStyle(ink).fill : "currentColor"}`,
      }));
      button.append(icon);
      button.addEventListener("click", () => save(chart, camera));
      camera.after(button);
    }
  };
  new MutationObserver(add).observe(document.body, { childList: true, subtree: true });
  add();
})();
"""
"""Script that adds "Download plot as an SVG" beside Plotly's camera: Plotly takes a second image button only from
scripts, never from a configuration. It works on every chart of a document and makes no request. (No tag stands in
it as text: sanitisers would drop the script.)"""

__all__ = ["SVG_BUTTON", "config", "file_name"]
