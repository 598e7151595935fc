"""Consumes a stream with the consumer of examples/python, as it stands in docs/stream.md."""

import os
import pathlib
import queue
import re
import subprocess
import sys
import threading
import time

root = pathlib.Path(__file__).parents[2]
example = root / "examples" / "python"
sys.path.insert(0, str(example))
from consumer import Consumer  # noqa: E402
from coxswain import Coxswain  # noqa: E402

LIMIT = 60  # seconds, long after anything here takes


def check(name, right, got):
    print(f"ok {name}" if right else f"not ok {name}: {got!r}", flush=True)


def until(is_so):
    end = time.monotonic() + LIMIT
    while not (got := is_so()) and time.monotonic() < end:
        time.sleep(0.01)
    return got


sidecar = Coxswain("stream")
stats = lambda stream: sidecar.call("stream.stats", stream=stream)  # noqa: E731
heard, fails = queue.Queue(), {b"once": 1, b"poison": 100}


def handle(m):
    heard.put((m["body"], m["attempt"]))
    if fails.get(m["body"], 0) >= m["attempt"]:
        raise ValueError("no good")


consumer = Consumer("python", "g", handle, prefetch=2, max_deliveries=2)
threading.Thread(target=consumer.run, daemon=True).start()
publish = lambda body, **more: sidecar.call("stream.publish", stream="python", body=body, **more)  # noqa: E731

publish(b"\x00\xff")
check("a message comes, its bytes as they were", (got := heard.get(timeout=LIMIT)) == (b"\x00\xff", 1), got)
check("it is acknowledged", until(lambda: (g := stats("python")["groups"]) and g[0]["pending"] == 0), stats("python"))
publish(b"once")
check("one that fails", (got := heard.get(timeout=LIMIT)) == (b"once", 1), got)
check("comes again", (got := heard.get(timeout=LIMIT)) == (b"once", 2), got)
publish(b"poison")
check("poison comes as often as it may", (got := [heard.get(timeout=LIMIT) for _ in range(2)]) == [(b"poison", 1), (b"poison", 2)], got)
check("and is a dead letter", until(lambda: stats("python")["dead"] == 1), stats("python"))
letter = sidecar.call("stream.dead", stream="python")["letters"][0]
check("with the reason", letter["reason"] == "ValueError('no good')" and letter["attempts"] == 2, letter)
fails.clear()
sidecar.call("stream.redrive", stream="python", ids=[letter["id"]])
check("which is redriven", (got := heard.get(timeout=LIMIT)) == (b"poison", 1), got)
# A message whose acknowledgement had not left the broken connection would be delivered a second time.
check("and acknowledged", until(lambda: stats("python")["groups"][0]["pending"] == 0), stats("python"))

sessions = lambda: {s["session"] for s in sidecar.call("inspect.snapshot")["sessions"] if s["client"] == "consumer"}  # noqa: E731
broken, old = consumer.socket, sessions()
broken.shutdown(2)
# Until the sidecar has noticed the end it would send a message into the broken connection, and deliver it a second time.
check("its connection ends", old and until(lambda: not old & sessions()), old)
publish(b"after")
check("a consumer whose connection broke comes back", (got := heard.get(timeout=LIMIT)) == (b"after", 1), got)
check("on a connection of its own", consumer.socket is not broken, broken)

run = subprocess.Popen([sys.executable, example / "consumer.py", "as-pasted", "g"], stdout=subprocess.PIPE, text=True, env=os.environ)
sidecar.call("stream.publish", stream="as-pasted", body=b"b", fields={"k": "v"})
check("as pasted", (got := run.stdout.readline()).endswith(" 1 b'b' {'k': 'v'}\n"), got)
run.kill()
run.wait()

page = (root / "docs" / "stream.md").read_text()
program = re.search(r"```python\n(import .*?)```", page, re.S).group(1).replace('"orders"', '"ten-lines"')
run = subprocess.Popen([sys.executable, "-u", "-c", program], cwd=example, stdout=subprocess.PIPE, text=True, env=os.environ)
sidecar.call("stream.publish", stream="ten-lines", body=b"b")
check("the page's ten lines", (got := run.stdout.readline()) == "1 b'b'\n", got)
check("acknowledge", until(lambda: (g := stats("ten-lines")["groups"]) and g[0]["pending"] == 0), stats("ten-lines"))
run.kill()
run.wait()
