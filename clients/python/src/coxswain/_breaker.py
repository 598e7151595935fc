"""A breaker around a block of code."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from ._conn import Connection, Unwatched
from ._core import Core
from ._errors import Busy


class Guard(Unwatched):
    """One use of a breaker at a time. state and probe are those of the last answer."""

    def __init__(self, portal: Any, params: dict[str, Any]) -> None:
        self._portal = portal
        self._core: Core = portal.core
        self._params = {k: v for k, v in params.items() if v is not None}
        self._answer: dict[str, Any] = {}
        self._began = 0.0

    @property
    def state(self) -> str:
        """The breaker's state, such as half_open."""
        return str(self._answer.get("state", ""))

    @property
    def probe(self) -> bool:
        """Whether the breaker is half open and this use is one of its probes."""
        return bool(self._answer.get("probe"))

    async def _ask(self) -> None:
        r = self._answer = await self._core.invoke("breaker.allow", dict(self._params), lease=self)
        if not r["allowed"]:
            after = None if r["retry_after_ms"] < 0 else r["retry_after_ms"] / 1000
            raise Busy(f"breaker {self._params['name']}: {r['state']}", retry_after=after, reason=r["state"])
        self._began = asyncio.get_running_loop().time()

    async def _report(self, exc: BaseException | None) -> None:
        # An exception that is no Exception, such as CancelledError or KeyboardInterrupt, shows nothing about what the breaker protects.
        outcome = "success" if exc is None else "failure" if isinstance(exc, Exception) else "ignored"
        took = int((asyncio.get_running_loop().time() - self._began) * 1000)
        report = {**self._about(self._answer, outcome), "duration_ms": min(took, 86_400_000)}
        await self._core.settle("breaker.report", report)

    def _about(self, answer: dict[str, Any], outcome: str) -> dict[str, Any]:
        """The params of the report of a use that was allowed by this answer."""
        probe = {"probe": answer["probe"]} if answer.get("probe") else {}
        return {**self._params, "outcome": outcome, "generation": answer["generation"], **probe}

    def _give_back_late(self, conn: Connection, result: dict[str, Any]) -> None:
        if result["allowed"] and result.get("probe"):
            conn.notify("breaker.report", self._about(result, "ignored"))

    def _return(self, _: None) -> None:
        """Gives back a probe that its caller does not get."""
        if self._core.conn is not None:
            self._give_back_late(self._core.conn, self._answer)


class Breaker(Guard):
    """Use it in `with`."""

    def __enter__(self) -> Self:
        self._portal.run(self._ask(), self._return)
        return self

    def __exit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        self._portal.finish(self._report(exc))


class AsyncBreaker(Guard):
    """Use it in `async with`."""

    async def __aenter__(self) -> Self:
        await self._ask()
        return self

    async def __aexit__(self, kind: object, exc: BaseException | None, trace: object) -> None:
        await self._report(exc)
