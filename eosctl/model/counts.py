"""Numbers of things in sentences."""


def counted(count: int, one: str, many: str | None = None) -> str:
    """`1 connector`, `2,000 connectors`; `counted(2, "key lies", "keys lie")` where more than a letter changes."""
    noun = one if count == 1 else many or f"{one}s"
    return f"{count:,} {noun}"
