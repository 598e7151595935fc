"""What the hooks of HTTP clients share: who is counted, what a server says of coming back, and how a request went."""

from __future__ import annotations

import datetime
import email.utils
from urllib.parse import urlsplit


def host(url: str) -> str:
    """The key that limits count a URL by: its host, in lower case, and its port if it is not the scheme's."""
    parts = urlsplit(url)
    name = (parts.hostname or "").rstrip(".")
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return name if parts.port in (None, default) else f"{name}:{parts.port}"


def retry_after(value: str | None) -> float | None:
    """The seconds of a Retry-After header, which has them or a date; None = it says nothing."""
    if value is None or not (text := value.strip()):
        return None
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=datetime.UTC)
    return (at - datetime.datetime.now(datetime.UTC)).total_seconds()


def telling(status: int, after: float | None) -> bool:
    """Whether an answer may pause its key: which statuses do is for the rule to say."""
    return status >= 400 or after is not None


def outcome(status: int) -> str:
    """How the use of an identity went, by the status that came back."""
    if status in (429, 503):
        return "soft_block"
    if status in (401, 403, 407):
        return "hard_block"
    return "fail" if status >= 500 else "ok"
