import itertools, os, socket
import msgpack  # apt-get install python3-msgpack, or pip install msgpack

class Coxswain:
    def __init__(self, path=os.environ.get("COXSWAIN_SOCKET", "/run/coxswain/sidecar.sock")):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.unpacker, self.ids, self.events = msgpack.Unpacker(), itertools.count(1), []

    def call(self, method, **params):
        msgid = next(self.ids)
        self.socket.sendall(msgpack.packb([0, msgid, method, [params]]))
        while True:
            for message in self.unpacker:
                if message[0] == 1 and message[1] == msgid:
                    if message[2] is not None:
                        raise RuntimeError(message[2][1])  # "CODE: words for people"
                    return message[3]
                self.events.append(message)  # a notification, such as lock.lost
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the sidecar closed the connection")
            self.unpacker.feed(data)

if __name__ == "__main__":
    coxswain = Coxswain()
    limits = [{"limit": 3, "period_ms": 5000}]
    print(coxswain.call("ratelimit.acquire", key="example.com", algorithm="token_bucket", limits=limits))
    lock = coxswain.call("lock.acquire", name="nightly")  # held until this process ends
    print("locked, fence " + lock["fence"] if lock["acquired"] else lock["held_by"])
