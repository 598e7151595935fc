"""What the hooks of HTTP clients share: the key of a URL, Retry-After, and the outcome of a request."""

from __future__ import annotations

import datetime
import email.utils
import ipaddress
from urllib.parse import urlsplit


def host(url: str) -> str:
    """The key of a URL for limits, the same as in the Go client: its host without the port, normalized so that all spellings have one key."""
    name = (urlsplit(url).hostname or "").removesuffix(".")
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        pass
    else:
        plain = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
        return str(plain or address)
    if not name.isascii():
        try:
            name = name.encode("idna").decode()
        except UnicodeError:
            pass  # a host without an ASCII form cannot be reached
    return name.lower()


def retry_after(value: str | None) -> float | None:
    """The seconds of a Retry-After header, which has seconds or a date; None = it is missing or neither."""
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


def may_pause(status: int, after: float | None) -> bool:
    """Whether an answer may pause its key and is reported; the rule decides which statuses do."""
    return status >= 400 or after is not None


def outcome(status: int) -> str:
    """The outcome of the use of an identity, by the status of the answer."""
    if status in (429, 503):
        return "soft_block"
    if status in (401, 403, 407):
        return "hard_block"
    return "fail" if status >= 500 else "ok"
