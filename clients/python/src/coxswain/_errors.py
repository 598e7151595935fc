"""The exceptions of calls. The convenience forms raise the refusal of a limit or a lease; the calls of methods return it as a result."""

from __future__ import annotations

from typing import Any


class CoxswainError(Exception):
    """An error of the sidecar, or of the connection to it.

    code: the kind of error, such as UNAVAILABLE
    retryable: the same call may succeed later, unchanged
    retry_after: seconds to wait before that; None = not known
    maybe_executed: the call may have been carried out although it failed
    details: more, such as trouble, the name of what is wrong with Redis
    """

    code = "INTERNAL"
    retryable = False

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
        maybe_executed: bool = False,
        details: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if retryable is not None:
            self.retryable = retryable
        self.retry_after = retry_after
        self.details = details or {}
        self.maybe_executed = maybe_executed or self.details.get("maybe_executed") is True

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class InvalidArgument(CoxswainError):
    """A parameter is wrong; the message names the key and the remedy."""

    code = "INVALID_ARGUMENT"


class InvalidRequest(CoxswainError):
    """The frame is not a request."""

    code = "INVALID_REQUEST"


class MethodNotFound(CoxswainError):
    """There is no such method; the message names the nearest one."""

    code = "METHOD_NOT_FOUND"


class NotFound(CoxswainError):
    """Something that the call names, such as a rule, does not exist."""

    code = "NOT_FOUND"


class FailedPrecondition(CoxswainError):
    """The call is not possible in the current state."""

    code = "FAILED_PRECONDITION"


class PermissionDenied(CoxswainError):
    """This client may not call this method."""

    code = "PERMISSION_DENIED"


class Conflict(CoxswainError):
    """The request id was used before with other params."""

    code = "CONFLICT"


class DeadlineExceeded(CoxswainError, TimeoutError):
    """The call's deadline has passed."""

    code = "DEADLINE_EXCEEDED"
    retryable = True


class Cancelled(CoxswainError):
    """The call was cancelled."""

    code = "CANCELLED"


class Overloaded(CoxswainError):
    """Too many calls are in flight, or wait."""

    code = "OVERLOADED"
    retryable = True


class Unavailable(CoxswainError):
    """Redis cannot be reached, did not reply or refused; or the connection to the sidecar ended."""

    code = "UNAVAILABLE"
    retryable = True

    @property
    def trouble(self) -> str:
        """The name of what is wrong with Redis, such as oom; empty if Redis is not the cause."""
        return str(self.details.get("trouble", ""))


class Draining(CoxswainError):
    """The sidecar is shutting down and takes no new acquisitions."""

    code = "DRAINING"
    retryable = True


class Internal(CoxswainError):
    """A fault of the sidecar; its log has the cause."""


class ConnectError(Unavailable, ConnectionError):
    """No sidecar was reached in time; the message has the cause and the remedy. hopeless: another attempt cannot succeed."""

    def __init__(self, message: str, *, hopeless: bool = False) -> None:
        super().__init__(message)
        self.hopeless = hopeless


class ClosedError(CoxswainError):
    """The client was closed."""

    code = "CLOSED"


class Busy(CoxswainError):
    """An acquisition was refused.

    reason: why, such as busy, cooling, open or empty
    held_by: the holder, if it is known
    retry_after: seconds after which it may be free; None = it does not become free by itself
    """

    code = "BUSY"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None, reason: str = "", held_by: dict[str, Any] | None = None) -> None:
        super().__init__(message, retry_after=retry_after)
        self.reason = reason
        self.held_by = held_by


class Limited(CoxswainError):
    """A limit refused.

    retry_after: seconds after which the cost fits if no other call is admitted meanwhile; None = it never fits
    result: the answer of ratelimit.acquire
    """

    code = "LIMITED"
    retryable = True

    def __init__(self, message: str, *, retry_after: float | None, result: Any) -> None:
        super().__init__(message, retry_after=retry_after)
        self.result = result


class LostError(CoxswainError):
    """A lease ended although its holder did not give it back. Another caller may hold it now."""

    code = "LOST"

    def __init__(self, message: str, *, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


BY_CODE: dict[str, type[CoxswainError]] = {
    e.code: e
    for e in (
        InvalidArgument,
        InvalidRequest,
        MethodNotFound,
        NotFound,
        FailedPrecondition,
        PermissionDenied,
        Conflict,
        DeadlineExceeded,
        Cancelled,
        Overloaded,
        Unavailable,
        Draining,
        Internal,
    )
}


def read_error(method: str, error: Any) -> CoxswainError:
    """The exception for an error reply, in map or list form."""
    if isinstance(error, dict):
        code, message = error.get("code", "INTERNAL"), error.get("message", "")
        after = error.get("retry_after_ms")
        return BY_CODE.get(code, CoxswainError)(
            f"{method}: {message}",
            code=code,
            retryable=error.get("retryable") is True,
            retry_after=None if after is None else after / 1000,
            details=error.get("details"),
        )
    code, _, message = str(error[1]).partition(": ")
    kind = BY_CODE.get(code, CoxswainError)
    return kind(f"{method}: {message}", code=code, maybe_executed=message.startswith("maybe executed: "))


class Broken(Exception):
    """The connection ended before the reply came. Callers see it as Unavailable, if the call is not repeated."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(f"the connection to the sidecar was lost: {why}")
        self.why = why
        self.sent = sent  # the call may have reached the sidecar
