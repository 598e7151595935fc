"""Sends every test vector that a client may send to a sidecar, and compares what happens."""

import json
import os
import pathlib
import socket
import sys
import time

import msgpack

LIMIT = 60  # seconds, long after anything here takes
PING = bytes.fromhex("940063ac73657373696f6e2e70696e6790")  # session.ping with msgid 99


def read(name):
    return json.loads((pathlib.Path(sys.argv[1]) / f"{name}.json").read_text())


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(LIMIT)
    s.connect(os.environ["COXSWAIN_SOCKET"])
    return s


def receive(s):
    """Returns one frame as bytes and as a value, or Nones when the sidecar closed."""
    unpacker, got = msgpack.Unpacker(), b""
    while True:
        data = s.recv(65536)
        if not data:
            return None, None
        got += data
        unpacker.feed(data)
        for value in unpacker:
            return got[: unpacker.tell()], value


def alive(s):
    s.sendall(PING)
    _, reply = receive(s)
    return bool(reply) and reply[:3] == [1, 99, None]


def check(name, problem):
    print(f"not ok {name}: {problem}" if problem else f"ok {name}")


def accepted(vector):
    """Sends it until it is answered in time: some vectors have a deadline that a busy machine may miss, which tells nothing about them."""
    end = time.monotonic() + LIMIT
    while "DEADLINE_EXCEEDED: " in (problem := sent(vector) or "") and time.monotonic() < end:
        pass
    return problem


def sent(vector):
    with connect() as s:
        s.sendall(bytes.fromhex(vector["hex"]))
        if vector["kind"] == "notification":
            # There is no answer; the next reply is that of the following call.
            return None if alive(s) else "answered, or closed"
        raw, reply = receive(s)
        if not reply:
            return "the connection was closed"
        if "msgid_hex" in vector and raw[2:].hex().find(vector["msgid_hex"]) != 0:
            return f"the msgid is not echoed: {raw.hex()}"
        # An unknown rule is not a fault of the frame.
        fault = reply[2] is not None and "NOT_FOUND: " not in str(reply[2])
        return f"{reply}" if fault or reply[:2] != [1, vector["msgid"]] else None


def refused(vector):
    with connect() as s:
        s.sendall(bytes.fromhex(vector["hex"]))
        _, reply = receive(s)
        text = reply[2][1] if reply and isinstance(reply[2], list) else ""
        if reply is None or reply[1] != vector["msgid"] or not text.startswith(vector["code"] + ": "):
            return f"{reply}"
        missing = [m for m in vector["mentions"] if m not in text]
        if missing:
            return f"{text!r} does not say {missing}"
        return None if alive(s) else "the connection did not go on"


def malformed(vector, other):
    with connect() as s:
        try:
            s.sendall(bytes.fromhex(vector["hex"]))
            if receive(s) != (None, None):
                return "answered"
        except ConnectionError:
            pass  # closed with bytes unread
    return None if alive(other) else "another connection was closed too"


for v in read("requests") + read("liberal"):
    check(f"accepted/{v['name']}", accepted(v))
for v in read("refused"):
    check(f"refused/{v['name']}", refused(v))
with connect() as bystander:
    for v in read("malformed"):
        check(f"malformed/{v['name']}", malformed(v, bystander))
