"""A crawler whose requests are limited by a rule that all pods share, each with an identity that no other request has at the time."""

BOT_NAME = "crawl"
SPIDER_MODULES = ["crawl.spiders"]
TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"  # any other works too
REQUEST_FINGERPRINTER_IMPLEMENTATION = "2.7"

DOWNLOADER_MIDDLEWARES = {"coxswain.scrapy.CoxswainMiddleware": 740}
COXSWAIN_RULE = "crawl"
COXSWAIN_POOL = "agents"  # User-Agents, the least recently used first
RETRY_TIMES = 10  # after a 429 or 503; the host is paused meanwhile, for all spiders

EXTENSIONS = {"crawl.heartbeat.Heartbeat": 500}
