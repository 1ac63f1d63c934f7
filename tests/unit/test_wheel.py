"""The wheel carries the whole app: built, unpacked elsewhere, started, asked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest
from browser_tools import free_port

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_wheel_starts_elsewhere(tmp_path: Path) -> None:
    built = tmp_path / "built"
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(built), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    [wheel] = built.glob("*.whl")
    home = tmp_path / "elsewhere"
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(home)
    for part in ("app.py", "serve.py", "pages/home.py", "assets/logo.svg", ".streamlit/config.toml"):
        assert (home / "privexplorer" / "_app" / part).exists(), part
    port = free_port()
    code = (
        f"import sys; sys.path.insert(0, {str(home)!r}); import privexplorer; "
        f"assert privexplorer.__file__.startswith({str(home)!r}), privexplorer.__file__; "
        "from privexplorer.__main__ import main; "
        f"sys.argv = ['privexplorer', 'app', '--server.port', '{port}', '--server.headless', 'true']; sys.exit(main())"
    )
    environment = {**os.environ, "PYTHONPATH": str(home)}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            answer = b""
            for _ in range(240):
                if process.poll() is not None:
                    break
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2) as reply:
                        answer = reply.read()
                        break
                except OSError:
                    time.sleep(0.25)
            assert answer == b"ok", (tmp_path / "log").read_text()[-2000:]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/entropy", timeout=20) as page:
                script = re.search(r"<\./([^>]+)>; rel=modulepreload", page.headers["Link"])
            assert script, "a page with a chart names the chart's script"
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{script[1]}", timeout=20) as chart:
                assert "javascript" in chart.headers["Content-Type"]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/about", timeout=20) as page:
                assert page.headers["Link"] is None
                assert page.headers["Accept-CH"] == "Sec-CH-Viewport-Width"
            for width, lives in (("390", True), ("1200", False)):
                asked = urllib.request.Request(
                    f"http://127.0.0.1:{port}/_stcore/host-config", headers={"Sec-CH-Viewport-Width": width}
                )
                with urllib.request.urlopen(asked, timeout=20) as told:
                    cookie = told.headers["Set-Cookie"]
                assert cookie.startswith("privexplorer_narrow=1"), cookie
                assert cookie.endswith("Max-Age=0") is not lives, cookie
        finally:
            process.terminate()
            process.wait(20)
