import itertools, os, socket, threading
from concurrent.futures import Future
import msgpack  # apt-get install python3-msgpack, or pip install msgpack

class Coxswain:
    """One connection for all threads. The reading thread calls on_event for lost locks, so on_event must make no calls."""

    def __init__(self, client, on_event=print, path=os.environ.get("COXSWAIN_SOCKET", "/run/coxswain/sidecar.sock")):
        self.socket, self.on_event = socket.socket(socket.AF_UNIX), on_event
        self.socket.connect(path)
        self.ids, self.lock, self.waiting = itertools.count(1), threading.Lock(), {}
        threading.Thread(target=self._read, daemon=True).start()
        self.call("session.hello", client=client)  # the name that is shown for its locks

    def call(self, method, **params):
        reply, msgid = Future(), next(self.ids)
        with self.lock:  # one frame at a time
            if self.waiting is None:
                raise ConnectionError("the connection to the sidecar has ended")
            self.waiting[msgid] = reply
            self.socket.sendall(msgpack.packb([0, msgid, method, [params]]))
        error, result = reply.result()
        if error is not None:
            raise RuntimeError(error[1])  # "CODE: message"
        return result

    def _read(self):
        unpacker = msgpack.Unpacker()
        try:
            while data := self.socket.recv(65536):
                unpacker.feed(data)
                for kind, *rest in unpacker:
                    if kind == 1:
                        self.waiting.pop(rest[0]).set_result(rest[1:])
                    else:
                        self.on_event(rest[0], rest[1][0])  # such as lock.lost
        except OSError:
            pass  # a reset ends the connection too
        finally:  # all leases of this connection are lost
            with self.lock:
                waiting, self.waiting = self.waiting, None
                self.socket.close()
            for reply in waiting.values():
                reply.set_exception(ConnectionError("the sidecar closed the connection"))
            self.on_event("closed", {})

if __name__ == "__main__":
    coxswain = Coxswain("example")
    limits = [{"limit": 3, "period_ms": 5000}]
    print(coxswain.call("ratelimit.acquire", key="example.com", algorithm="token_bucket", limits=limits))
    lock = coxswain.call("lock.acquire", name="nightly")  # held until this process ends
    print("locked, fence " + lock["fence"] if lock["acquired"] else lock["held_by"])
