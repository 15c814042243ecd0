"""Running an audit."""
