"""Writes the events of the middleware to HEARTBEAT_LOG, and a beat every 50 ms: a blocked reactor does not beat."""

import json

from coxswain.scrapy import identity_taken, request_allowed, request_refused
from scrapy import signals
from scrapy.exceptions import NotConfigured
from twisted.internet.task import LoopingCall


class Heartbeat:
    def __init__(self, crawler):
        if not (path := crawler.settings.get("HEARTBEAT_LOG")):
            raise NotConfigured
        self.log, self.stats = open(path, "w", buffering=1), crawler.stats
        self.beating = LoopingCall(self.write, event="beat")
        for signal, method in (
            (signals.spider_opened, self.opened), (signals.spider_closed, self.closed), (identity_taken, self.identity),
            (request_allowed, self.allowed), (request_refused, self.refused),
        ):  # fmt: skip
            crawler.signals.connect(method, signal=signal)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def write(self, **event):
        self.log.write(json.dumps(event, default=str) + "\n")

    def opened(self):
        self.beating.start(0.05)

    def identity(self, request, permit):
        self.write(event="identity", url=request.url, id=permit.id, fence=permit.fence)

    def allowed(self, request, key):
        self.write(event="allowed", url=request.url, key=key)

    def refused(self, request, key, reason, retry_after):
        self.write(event="refused", url=request.url, key=key, reason=reason, retry_after=retry_after)

    def closed(self, reason):
        self.beating.stop()
        self.write(event="closed", reason=reason, stats=self.stats.get_stats())
        self.log.close()
