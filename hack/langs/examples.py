"""Runs the first calls of a language: examples.py COMMAND..., such as ruby examples/ruby/coxswain.rb. All languages print the same."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import socket

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "examples" / "python"))
from coxswain import Coxswain  # noqa: E402

COMMAND = sys.argv[1:]
SOCKET = os.environ["COXSWAIN_SOCKET"]
LIMIT = 60  # seconds, long after anything here takes
BOUND = {"name": "nightly", "bind": "ttl", "ttl_ms": 3600000}
RULE = {"key": "example.com", "algorithm": "token_bucket", "limits": [{"limit": 3, "period_ms": 5000}]}
# A shell opens a connection for each call, so it notices a loss at its next renewal.
SHELL = COMMAND[0] == "sh"
sidecar = Coxswain("examples")


def check(name, right, got):
    print(f"ok {name}" if right else f"not ok {name}: {got!r}", flush=True)


def until(is_so):
    end = time.monotonic() + LIMIT
    while not (got := is_so()) and time.monotonic() < end:
        time.sleep(0.01)
    return got


def start(seconds, path=SOCKET):
    """Starts it, to hold the lock for so many seconds."""
    sidecar.call("ratelimit.reset", **RULE)
    return subprocess.Popen(
        [*COMMAND, str(seconds)], env=os.environ | {"COXSWAIN_SOCKET": path}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def end(run):
    try:
        out, err = run.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        run.kill()  # which is a code below 0
        out, err = run.communicate()
    return run.returncode, out, err


def locked(run):
    """Waits until it holds the lock, and returns its fence."""
    run.stdout.readline()
    line = run.stdout.readline()
    found = re.fullmatch(r"locked, fence (\d+)\n", line)
    return int(found[1]) if found else line


def relay(path):
    """Passes one connection on to the sidecar; the function that it returns ends it."""
    listener, ends = socket.socket(socket.AF_UNIX), []
    listener.bind(path)
    listener.listen()

    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass  # it was ended

    def accept():
        client, server = listener.accept()[0], socket.socket(socket.AF_UNIX)
        server.connect(SOCKET)
        ends.extend([client, server])
        threading.Thread(target=pump, args=(client, server), daemon=True).start()
        pump(server, client)

    threading.Thread(target=accept, daemon=True).start()
    return lambda: [s.shutdown(socket.SHUT_RDWR) for s in ends]


# The language before this one may have held the lock to its end: its session frees it a little later.
check("the lock is free", until(lambda: not sidecar.call("lock.get", name="nightly")["held"]), "held")
code, out, err = end(start(1))
first = re.fullmatch(r"allowed, 2 left\nlocked, fence (\d+)\nreleased true\n", out)
check("as pasted", first and code == 0 and not err, (code, out, err))
check("the lock is free afterwards", not sidecar.call("lock.get", name="nightly")["held"], None)

run = start(600)
fence = locked(run)
check("a later fence is higher", first and isinstance(fence, int) and fence > int(first[1]), fence)
holder = sidecar.call("lock.get", name="nightly").get("held_by", {})
name = "sidecar call" if SHELL else pathlib.Path(COMMAND[-1]).name.replace("coxswain", "example")
check("it is the holder, by its name", holder.get("client") == name, holder)
if COMMAND[0] not in ("sh", "php"):  # PHP cannot open a socket close-on-exec, which its example says
    # A child that inherited the socket would keep the lock after the end of its parent.
    links = [f for f in pathlib.Path(f"/proc/{run.pid}/fd").iterdir() if int(f.name) > 2 and os.readlink(f).startswith("socket:")]
    flags = [int(re.search(r"flags:\s*(\d+)", pathlib.Path(f"/proc/{run.pid}/fdinfo/{f.name}").read_text())[1], 8) for f in links]
    check("a child does not have its socket", len(flags) == 1 and flags[0] & os.O_CLOEXEC, flags)
sidecar.call("lock.force_release", name="nightly")
code, out, err = end(run)
check("it hears that the lock is lost, and ends", code > 0 and re.search(r"lost: (not_owner|expired)", err) and "released" not in out, (code, out, err))

mine = sidecar.call("lock.acquire", **BOUND)
code, out, err = end(start(1))
check("it tells who holds the lock", code > 0 and "busy, held by examples" in err and "locked" not in out, (code, out, err))
sidecar.call("lock.release", name="nightly", token=mine["token"])

sidecar.call("ratelimit.pause", key="example.com", for_ms=3600000)
code, out, err = end(start(1))
check("it tells when the limit lets it", code > 0 and re.search(r"refused, again in 3\d{6} ms", err) and not out, (code, out, err))
sidecar.call("ratelimit.resume", key="example.com")

code, out, err = end(start(1, "/nowhere/s.sock"))
check("it names a socket that is not there", code > 0 and "/nowhere" in err and not out, (code, out, err))

if not SHELL:
    with tempfile.TemporaryDirectory() as folder:
        finish = relay(f"{folder}/s.sock")
        run = start(600, f"{folder}/s.sock")
        locked(run)
        finish()
        code, out, err = end(run)
        check("it tells that the connection has ended", code > 0 and "closed the connection" in err and "released" not in out, (code, out, err))
