"""Grants of limits. A refusal raises Limited."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Self, cast

from ._conn import Connection, Unwatched
from ._core import Core
from ._errors import Limited
from ._lease import ms, seconds
from .types import RatelimitResult


class Grant(Unwatched):
    """A call that a limit admitted. Under a rule with max_concurrent, the end of a `with` block gives its permit back.

    result: the answer of ratelimit.acquire
    """

    def __init__(self, portal: Any, params: dict[str, Any]) -> None:
        self._portal = portal
        self._core: Core = portal.core
        self._params = params
        self._over = False
        self.result: RatelimitResult

    @property
    def remaining(self) -> int:
        """How much could be taken at once after this grant, rounded down."""
        return self.result["remaining"]

    def _give_back_late(self, conn: Connection, result: dict[str, Any]) -> None:
        if grant := result.get("grant"):
            conn.notify("ratelimit.refund", {"grant": grant})

    def _return(self, _: None) -> None:
        """Gives back a grant that its caller does not get."""
        if self._core.conn is not None:
            self._give_back_late(self._core.conn, dict(self.result))

    async def _ask(self) -> None:
        r = self.result = cast(RatelimitResult, await self._core.invoke("ratelimit.acquire", dict(self._params), lease=self))
        if not r["allowed"]:
            after = seconds(r["retry_after_ms"])
            when = "never" if after is None else f"in {after:g} s"
            raise Limited(
                f"{r['rule']} {self._params['key']}: refused by {r.get('denied_by', 'limit')}, {r['band']}: again {when}",
                retry_after=after,
                result=r,
            )

    async def _done(self) -> None:
        if self.result.get("held") and not self._over:
            self._over = True
            await self._core.settle("ratelimit.done", {"grant": self.result["grant"]})

    async def _report(self, status: int, retry_after: float | None) -> None:
        params: dict[str, Any] = {k: v for k, v in self._params.items() if k in ("rule", "key", "group", "pool")} | {"status": status}
        if retry_after is not None:
            params["retry_after_ms"] = ms(retry_after)
        if grant := self.result.get("grant"):
            params["grant"] = grant
        self._over = True
        await self._core.settle("ratelimit.report", params)

    async def _refund(self) -> None:
        self._over = True
        if grant := self.result.get("grant"):
            await self._core.settle("ratelimit.refund", {"grant": grant})


class LimitGrant(Grant):
    """A call that a limit admitted. See Grant."""

    def report(self, status: int, *, retry_after: float | None = None) -> None:
        """Reports the remote server's status: one among the rule's penalty codes pauses the key for all callers."""
        self._portal.finish(self._report(status, retry_after))

    def refund(self) -> None:
        """Gives back a cost that was taken but not used."""
        self._portal.finish(self._refund())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._portal.finish(self._done())


class AsyncLimitGrant(Grant):
    """A call that a limit admits. `await` it, or use it in `async with`, to ask. See Grant."""

    async def _asked(self) -> Self:
        await self._ask()
        return self

    def __await__(self) -> Generator[Any, None, Self]:
        return self._asked().__await__()

    async def report(self, status: int, *, retry_after: float | None = None) -> None:
        """Reports the remote server's status: one among the rule's penalty codes pauses the key for all callers."""
        await self._report(status, retry_after)

    async def refund(self) -> None:
        """Gives back a cost that was taken but not used."""
        await self._refund()

    async def __aenter__(self) -> Self:
        return await self._asked()

    async def __aexit__(self, *exc: object) -> None:
        await self._done()
