"""Consumes a stream: python3 consumer.py STREAM GROUP"""
import collections, itertools, os, socket, sys, time
import msgpack  # apt-get install python3-msgpack, or pip install msgpack

class Consumer:
    """Calls a function with each message of a group, one at a time, on one connection."""

    def __init__(self, stream, group, handle, path=os.environ.get("COXSWAIN_SOCKET", "/run/coxswain/sidecar.sock"), **options):
        self.names, self.handle, self.path, self.options = dict(stream=stream, group=group), handle, path, options

    def run(self):
        """Consumes forever. When the connection breaks, messages that were not acknowledged are delivered again, maybe to others."""
        self.pause = 0.1
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as self.socket:
                    self.socket.connect(self.path)
                    self._consume()
            except OSError as e:
                print(f"no sidecar: {e}; again in {self.pause:.1f} s", file=sys.stderr)
            time.sleep(self.pause)
            self.pause = min(2 * self.pause, 5)

    def _consume(self):
        self.ids, self.unpacker, self.received = itertools.count(1), msgpack.Unpacker(), collections.deque()
        self.call("session.hello", client="consumer")
        self.call("stream.subscribe", **self.names, **self.options)
        self.pause = 0.1
        while True:
            method, (m,) = self.received.popleft() if self.received else self._frame()[1:]
            if method != "stream.message":
                continue  # such as session.draining
            try:
                self.handle(m)
            except Exception as e:  # delivered again, later each time, and a dead letter after the last attempt
                self.call("stream.nack", **self.names, id=m["id"], reason=repr(e)[:1000])
            else:
                self.call("stream.ack", **self.names, id=m["id"])

    def call(self, method, **params):
        msgid = next(self.ids)
        self.socket.sendall(msgpack.packb([0, msgid, method, [params]]))
        while (frame := self._frame())[0] != 1 or frame[1] != msgid:
            self.received.append(frame[1:])  # messages come at any time
        if frame[2] is None:
            return frame[3]
        if frame[2][1].startswith(("UNAVAILABLE", "DEADLINE_EXCEEDED", "DRAINING", "OVERLOADED")):
            raise ConnectionError(frame[2][1])  # "CODE: message"
        raise RuntimeError(frame[2][1])

    def _frame(self):
        while True:
            for frame in self.unpacker:
                return frame
            if not (data := self.socket.recv(65536)):
                raise ConnectionError("the sidecar closed the connection")
            self.unpacker.feed(data)

if __name__ == "__main__":
    Consumer(*sys.argv[1:3], lambda m: print(m["id"], m["attempt"], m.get("body", b""), m.get("fields", {}), flush=True)).run()
