"""Makes one call, as soon as it runs, and says what came of it."""

import time

from coxswain import Coxswain

try:
    Coxswain("crawler").call("session.ping")
    print("the first call works")
except OSError as error:
    print("the first call fails:", error)
time.sleep(3600)
