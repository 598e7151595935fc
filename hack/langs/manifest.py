"""Runs the crawler of manifests/crawler/deployment.yaml on prepared answers, and checks what it fetches."""

import contextlib
import io
import pathlib
import sys
import textwrap
import time
import types

text = (pathlib.Path(__file__).parents[2] / "manifests/crawler/deployment.yaml").read_text()
script = textwrap.dedent(text.split("            - |\n", 1)[1].split("          env:", 1)[0])


def fetched(*answers):
    """How often it fetches a page while it gets these answers."""
    left = list(answers)

    class Coxswain:
        def __init__(self, client):
            self.client = client

        def call(self, method, **params):
            if not left:
                raise SystemExit
            return dict(allowed=True, degraded=False, retry_after_ms=0) | left.pop(0)

    sys.modules["coxswain"] = types.SimpleNamespace(Coxswain=Coxswain)
    time.sleep = lambda seconds: None
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        exec(script, {})
    return out.getvalue().count("fetch a page")


def check(name, got, want):
    print(f"ok {name}" if got == want else f"not ok {name}: {got} fetched, not {want}")


check("it fetches what is allowed", fetched({}, {}), 2)
check("it waits where it is refused", fetched({"allowed": False, "retry_after_ms": 5}, {}), 1)
check("it fetches nothing without its limit", fetched({"degraded": True}, {"degraded": True, "allowed": False}), 0)
