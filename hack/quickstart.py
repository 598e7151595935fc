#!/usr/bin/python3
"""quickstart.py TREE PAGE WORK: one page's section "Quick start", as its reader carries it out; see quickstart-test.sh.

A block of sh is typed into a terminal, and one of python is saved under the name that the text before it gives. A block that ends with
`serve` keeps its terminal; what follows is typed into a new one.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

LIMIT = 1800.0  # seconds: a cold build on a busy machine
ORIGIN = "https://github.com/coxswain-sidecar/coxswain"
ALLOWED = re.compile(r'^allowed|"allowed": ?true', re.M)
REFUSED = re.compile(r'^refused|"allowed": ?false', re.M)


def steps(text: str) -> list[tuple[str, str, str]]:
    """The blocks of the section: the language, the block, and the text that leads to it."""
    section = re.split(r"^## ", text.split("\n## Quick start\n", 1)[1], maxsplit=1, flags=re.M)[0]
    found, at = [], 0
    for block in re.finditer(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S):
        found.append((block[1], block[2], section[at : block.start()]))
        at = block.end()
    return found


def fail(why: str) -> None:
    sys.exit(f"quickstart.py: {page.name}: {why}")


def started(serving: subprocess.Popen[bytes], log: pathlib.Path) -> None:
    """Waits until the sidecar that a terminal serves is ready: it makes its socket before it can decide about limits."""
    end = time.monotonic() + LIMIT
    ready = ["bash", "-c", "bin/sidecar wait --timeout 1s --socket coxswain.sock"]
    while not any(p.is_socket() for p in home.glob("coxswain/*.sock")) or subprocess.run(ready, cwd=home / "coxswain", env=env, capture_output=True).returncode != 0:
        if serving.poll() is not None or time.monotonic() > end:
            fail(f"no sidecar serves:\n{log.read_text()}")
        time.sleep(0.1)


tree, page, work = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3])
home, bin = work / "home", work / "bin"
home.mkdir()
bin.mkdir()
(bin / "python3").symlink_to("/usr/bin/python3")  # Debian's, which has msgpack
env = {k: v for k, v in os.environ.items() if k.startswith("GO") or k in ("LANG", "TMPDIR", "HTTPS_PROXY", "https_proxy")}
env |= {
    "COXSWAIN_HTTP_ADDR": "127.0.0.1:0",  # 8086 may be another sidecar's
    "HOME": str(home), "PATH": f"{bin}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1",
    # The page's own line clones this tree.
    "GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": f"url.{tree}.insteadOf", "GIT_CONFIG_VALUE_0": ORIGIN,
    "GIT_CONFIG_KEY_1": "safe.directory", "GIT_CONFIG_VALUE_1": "*",
}  # fmt: skip

serving: list[subprocess.Popen[bytes]] = []
seen: list[str] = []
typed = ""  # what this terminal was given so far, silently again with each block
try:
    for language, block, before in steps(page.read_text()):
        if language == "python":
            name = re.findall(r"`(\w+\.py)`", before)[-1]
            if (lines := len([line for line in block.splitlines() if line.strip()])) > 10:
                fail(f"{name} has {lines} lines; a first call is to take 10 at most")
            (home / "coxswain" / name).write_text(block)
            seen.append("asyncio" if "asyncio" in block else "sync")
        elif language == "sh" and re.search(r"^bin/sidecar serve|&& bin/sidecar serve", block, re.M):
            log = work / f"terminal{len(serving)}.log"
            with log.open("wb") as out:
                serving.append(subprocess.Popen(["bash", "-euc", typed + block], cwd=home, env=env, stdout=out, stderr=out, start_new_session=True))
            started(serving[-1], log)
            typed = ""
        elif language == "sh":
            script = f"{{ {typed}\n}} >/dev/null\n{block}" if typed else block
            run = subprocess.run(["bash", "-euc", script], cwd=home, env=env, capture_output=True, text=True, timeout=LIMIT)
            print(f"$ {block}{run.stdout}", end="", flush=True)
            if run.returncode != 0:
                fail(f"exit code {run.returncode} of\n{block}{run.stderr}")
            if "ratelimit.acquire" in block or "python3" in block:
                if not ALLOWED.search(run.stdout) or not REFUSED.search(run.stdout):
                    fail(f"not an allowed and a refused call:\n{block}{run.stdout}{run.stderr}")
                seen.append("asked")
            typed += "".join(line for line in block.splitlines(keepends=True) if re.match(r"cd |export ", line))
finally:
    for terminal in serving:
        if terminal.poll() is None:
            os.killpg(terminal.pid, signal.SIGTERM)
            terminal.wait()
if sorted(seen) != ["asked", "asked", "asked", "asyncio", "sync"]:
    fail(f"it is to show a shell, Python and asyncio, and each asked; it has {seen}")
