"""Every kind of finding, by theme: ID, name, title, worst severity, cause, fix, source."""
