"""Java properties files (java.util.Properties)."""

import javaproperties

from eosctl.errors import ConfigError


def decode_properties(text: str, *, origin: str) -> dict[str, str]:
    """Key -> value of Java properties text, a later value of a key replacing an earlier one.

    1. A line whose first non-blank is `#` or `!` is a comment; blanks are space, tab and form feed.
    2. A line that ends in an odd number of backslashes goes on in the next line, whose leading blanks are dropped.
    3. The key ends at the first `=`, `:` or blank that has no backslash before it; blanks around that, and one `=` or
       `:`, are not part of the value.
    4. `\\t \\n \\f \\r` and `\\uXXXX` are characters; a backslash before any other character is dropped.

    Raises ConfigError naming `origin` (the file) for a `\\u` without four hexadecimal digits.
    """
    try:
        return dict(javaproperties.loads(text))
    except javaproperties.InvalidUEscapeError as error:
        # The library's text quotes the line, which may hold a password.
        raise ConfigError(
            f"{origin} has a \\u that four hexadecimal digits do not follow", hint="write a backslash as \\\\"
        ) from error
