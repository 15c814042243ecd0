"""Times as eosctl shows them: UTC, to the millisecond."""

from datetime import UTC, datetime


def rfc3339(timestamp_ms: int) -> str:
    """A time in ms since the epoch as RFC 3339 in UTC: `2026-01-31T12:00:00.000Z`; `invalid:<ms>` beyond year 9999."""
    try:
        when = datetime.fromtimestamp(timestamp_ms // 1000, UTC)
    except (OverflowError, ValueError):
        return f"invalid:{timestamp_ms}"
    return f"{when:%Y-%m-%dT%H:%M:%S}.{timestamp_ms % 1000:03d}Z"
