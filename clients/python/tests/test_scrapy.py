"""The Scrapy middleware, in spiders that are processes, each with a sidecar of its own on one Redis."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from conftest import LIMIT, ROOT, Sidecar, until
from site_ import Site

from coxswain import Client, NotFound

PROJECT = ROOT / "examples" / "scrapy"
ASYNCIO = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
SELECT = "twisted.internet.selectreactor.SelectReactor"
Make = Callable[..., Sidecar]


class Spider:
    """A spider as a process, and what it wrote."""

    def __init__(self, folder: pathlib.Path, site: Site, socket: str, pages: int, reactor: str = ASYNCIO, **settings: Any) -> None:
        self.log, self.output = folder / "events.jsonl", folder / "scrapy.log"
        folder.mkdir()
        own = {
            "HEARTBEAT_LOG": self.log, "COXSWAIN_SOCKET": socket, "TWISTED_REACTOR": reactor, "LOG_FILE": self.output, "LOG_LEVEL": "INFO",
            "CONCURRENT_REQUESTS": 1, "DOWNLOAD_TIMEOUT": LIMIT, "TELNETCONSOLE_ENABLED": False,
        }  # fmt: skip
        options = [part for k, v in (own | settings).items() for part in ("-s", f"{k}={v}")]
        env = os.environ | {"PYTHONPATH": str(ROOT / "clients/python/src"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "scrapy", "crawl", "pages", "-a", f"site={site.url}", "-a", f"pages={pages}", *options]
        self.process = subprocess.Popen(command, cwd=PROJECT, env=env)

    def events(self) -> list[dict[str, Any]]:
        """Waits for its end."""
        try:
            assert self.process.wait(LIMIT) == 0, self.output.read_text()
        finally:
            self.process.kill()
        return [json.loads(line) for line in self.log.read_text().splitlines()]


def rule(c: Client, name: str, **fields: Any) -> None:
    c.call("ratelimit.put_rule", {"rule": {"name": name, "algorithm": "leaky_bucket", **fields}})


def has_rule(c: Client, name: str) -> bool:
    try:
        return bool(c.ratelimit.peek(rule=name, key="k"))
    except NotFound:
        return False


def waits(events: list[dict[str, Any]]) -> list[tuple[float, int]]:
    """The waits of requests, as the seconds of their retry_after, and how often the reactor beat during each."""
    found: list[tuple[float, int]] = []
    waiting = False
    for e in events:
        if e["event"] == "beat" and waiting:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        elif e["event"] in ("refused", "allowed"):
            waiting = e["event"] == "refused"
            if waiting:
                found.append((e["retry_after"], 0))
    return found


@pytest.mark.limit(600)
def test_three_spiders_keep_to_one_rule(own: Make, name: str, tmp_path: pathlib.Path) -> None:
    most, period, after = 20, 4.0, 10  # the site's limit and period, and the seconds of its Retry-After

    def answer(before: int, path: str, agent: str) -> tuple[int, str | None]:
        return (429, str(after)) if before == 15 else (200, None)

    sidecars = [own() for _ in range(3)]
    agents = [f"agent-{n}" for n in range(5)]

    def pause() -> tuple[float, float] | None:
        """From when until when the rule is certainly paused, by the clock of the site's log."""
        asked = time.monotonic()
        r = c.ratelimit.peek(rule=name, key="127.0.0.1")
        return (time.monotonic(), asked + r["retry_after_ms"] / 1000) if r.get("denied_by") == "pause" else None

    # A spider that starts late on a busy machine would see neither the pause nor the others.
    with Site(answer, together=3) as site, Client("test", sidecars[0].socket, deadline=60) as c:
        # 12 in 4 s, evenly. A visit may be later than its grant, but only the last one of each spider: 1 + 12 + 3 <= 20.
        rule(c, name, limits=[{"limit": most, "period_ms": int(1000 * period)}], headroom_percent=40)
        c.pool.put(pool=name, members=[{"id": agent} for agent in agents])
        for sidecar in sidecars:
            with Client("test", sidecar.socket, deadline=60) as each:
                until(lambda: has_rule(each, name))
        reactors = [ASYNCIO, ASYNCIO, SELECT]
        spiders = [
            Spider(tmp_path / str(n), site, s.socket, 20, reactors[n], COXSWAIN_RULE=name, COXSWAIN_POOL=name) for n, s in enumerate(sidecars)
        ]
        paused, resumed = until(pause)
        logs = [spider.events() for spider in spiders]

    ends = [log[-1] for log in logs]
    assert [e["reason"] for e in ends] == ["finished"] * 3
    assert sum(e["stats"]["item_scraped_count"] for e in ends) == 60
    # The rate, in the site's own log.
    times = [v.at for v in site.log]
    busiest = max(sum(1 for t in times if begin <= t < begin + period) for begin in times)
    assert busiest <= most
    # One spider got the 429, and all stayed away.
    assert sum(e["stats"].get("coxswain/reported/429", 0) for e in ends) == 1
    assert sum(1 for t in times if paused < t < resumed) <= 3, "only requests that were already under way, one of each spider"
    for log in logs:
        assert any(e["event"] == "refused" and e["reason"] == "pause" for e in log)
    # No reactor was blocked while a request waited: there are 20 beats a second, and an eighth of them suffices.
    for log in logs:
        long = [(seconds, beats) for seconds, beats in waits(log) if seconds >= after / 2]
        assert long and all(beats >= 2.5 * seconds for seconds, beats in long), long
    # Identities in the order of their last use. The two other spiders may hold one each, and one cools down.
    grants = sorted((e["fence"], e["id"]) for log in logs for e in log if e["event"] == "identity")
    assert len(grants) >= 61
    order = list(agents)
    for _, agent in grants:
        assert order.index(agent) <= 3, (agent, order)
        order.remove(agent)
        order.append(agent)
    assert [agent for _, agent in grants[:5]] == agents
    assert {v.agent for v in site.log} == set(agents)


def test_an_identity_that_a_site_bans_is_used_no_more(own: Make, name: str, tmp_path: pathlib.Path) -> None:
    def answer(before: int, path: str, agent: str) -> tuple[int, str | None]:
        return (403, None) if agent == "Agent Two" else (200, None)

    sidecar = own()
    with Site(answer) as site, Client("test", sidecar.socket, deadline=60) as c:
        c.pool.put(pool=name, members=[{"id": "1", "meta": "Agent One"}, {"id": "2", "meta": "Agent Two"}])
        end = Spider(
            tmp_path / "s", site, sidecar.socket, 6, COXSWAIN_RULE="", COXSWAIN_POOL=name, COXSWAIN_BAN_STATUSES="403", RETRY_HTTP_CODES="403",
        ).events()[-1]  # fmt: skip
        assert end["stats"]["item_scraped_count"] == 6
        assert end["stats"]["coxswain/bans"] == 1
        assert c.pool.stats(pool=name)["banned"] == 1
    assert [v.agent for v in site.log].count("Agent Two") == 1


def test_a_request_that_never_fits_is_dropped_and_others_wait_for_a_sidecar_that_is_away(own: Make, name: str, tmp_path: pathlib.Path) -> None:
    sidecar = own()
    with Site(lambda before, path, agent: (200, None)) as site, Client("test", sidecar.socket, deadline=60) as c:
        rule(c, name, limits=[{"limit": 0, "period_ms": 1000}])
        until(lambda: has_rule(c, name))
        end = Spider(tmp_path / "never", site, sidecar.socket, 2, COXSWAIN_RULE=name, COXSWAIN_POOL="").events()[-1]
        assert end["stats"]["coxswain/given_up"] == 2 and site.log == []
        rule(c, f"{name}-2", limits=[{"limit": 1000, "period_ms": 1000}])
        until(lambda: has_rule(c, f"{name}-2"))
        sidecar.kill()
        spider = Spider(tmp_path / "away", site, sidecar.socket, 2, COXSWAIN_RULE=f"{name}-2", COXSWAIN_POOL="")
        until(lambda: spider.log.exists() and '"unavailable"' in spider.log.read_text())
        sidecar.start()
        end = spider.events()[-1]
        assert end["stats"]["item_scraped_count"] == 2 and end["stats"]["coxswain/unavailable"] >= 1


def test_requests_that_would_wait_forever_or_too_long_are_dropped_at_once(own: Make, name: str, tmp_path: pathlib.Path) -> None:
    sidecar = own()
    with Site(lambda before, path, agent: (200, None)) as site, Client("test", sidecar.socket, deadline=60) as c:
        c.pool.put(pool=name, members=[{"id": "1"}])
        rule(c, f"{name}-never", limits=[{"limit": 0, "period_ms": 1000}])
        rule(c, f"{name}-late", limits=[{"limit": 1, "period_ms": 3_600_000, "burst": 1}])
        until(lambda: has_rule(c, f"{name}-never") and has_rule(c, f"{name}-late"))

        # The identity of a dropped request is free for the next one.
        stats = Spider(tmp_path / "rule", site, sidecar.socket, 2, COXSWAIN_RULE=f"{name}-never", COXSWAIN_POOL=name).events()[-1]["stats"]
        assert stats["coxswain/given_up"] == stats["coxswain/identities"] == stats["coxswain/refused/limit"] == 2
        assert "coxswain/refused/pool/busy" not in stats and site.log == []

        c.pool.ban(pool=name, id="1")
        stats = Spider(tmp_path / "pool", site, sidecar.socket, 2, COXSWAIN_RULE="", COXSWAIN_POOL=name).events()[-1]["stats"]
        assert stats["coxswain/given_up"] == stats["coxswain/refused/pool/banned"] == 2 and site.log == []

        late = Spider(tmp_path / "late", site, sidecar.socket, 2, COXSWAIN_RULE=f"{name}-late", COXSWAIN_POOL="", COXSWAIN_MAX_WAIT=60)
        stats = late.events()[-1]["stats"]
        assert stats["item_scraped_count"] == stats["coxswain/given_up"] == stats["coxswain/refused/limit"] == 1 and len(site.log) == 1
