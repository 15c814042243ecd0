"""Findings for people: those of one kind as one group, with the fix that they share; waived ones last."""

from collections.abc import Iterator
from typing import Final

from eosctl.model.counts import counted
from eosctl.model.times import rfc3339
from eosctl.render.cells import cell, escape_controls
from eosctl.render.document import Findings, Tone, Tree, look_up
from eosctl.render.layout import HEADING, Page, first_of, fold, more_words

SEVERITIES: Final = {"error": Tone.BAD, "warning": Tone.WARN, "info": Tone.FAINT}
INDENT: Final = "  "
NARROWEST: Final = 20
TIMES: Final = frozenset({"timestamp", "last_write"})
"""Figures of evidence that are times, in ms since the epoch."""

Group = list[Tree]


def findings_lines(data: object, block: Findings, page: Page) -> Iterator[str]:
    """The lines of the block: what is new before what was there at the last run, where that is known."""
    rows = look_up(data, block.rows)
    assert isinstance(rows, list)
    left_out = data.get("findings_left_out") if isinstance(data, dict) else None
    if not rows and not left_out:
        yield page.paint(block.empty, Tone.GOOD)
    known = [row for row in rows if look_up(row, "new") is False]
    fresh = [row for row in rows if look_up(row, "new") is not False]
    yield from _groups_lines(fresh, block, page)
    if known:
        if fresh:
            yield ""
        yield page.paint("Known from the last run", HEADING)
        yield from _groups_lines(known, block, page)
    if isinstance(left_out, int) and left_out:
        if rows:
            yield ""
        what = counted(left_out, "finding of lower severity is", "findings of lower severity are")
        yield page.paint(f"{what} not shown", Tone.FAINT)


def _groups_lines(rows: list[Tree], block: Findings, page: Page) -> Iterator[str]:
    groups: dict[tuple[str, ...], Group] = {}
    for row in rows:
        key = tuple(_text(row, path) for path in ("severity", "id", "name", "waiver"))
        groups.setdefault(key, []).append(row)
    for number, group in enumerate(sorted(groups.values(), key=_is_waived)):
        if number:
            yield ""
        yield from _group_lines(group, block, page)


def _is_waived(group: Group) -> bool:
    return look_up(group[0], "waiver.expired") is False


def _group_lines(group: Group, block: Findings, page: Page) -> Iterator[str]:
    """One finding, or several of a kind: a line for each subject, and the fix once where they share it."""
    severity, finding_id, name = (_text(group[0], path) for path in ("severity", "id", "name"))
    level = page.paint(severity, SEVERITIES.get(severity))
    subject = _text(group[0], "subject") if len(group) == 1 else f"({len(group):,})"
    yield f"{level} {page.paint(finding_id, HEADING)} {page.paint(name, HEADING)} {subject}"
    fixes = {_text(row, "cure") for row in group}
    shown = group if page.width is None else list(first_of(group, block.most))
    for row in shown:
        message = _text(row, "message")
        yield from _folded(message if len(group) == 1 else f"{_text(row, 'subject')}: {message}", page)
        for line in _evidence(look_up(row, "evidence")) if block.evidence else ():
            yield from _folded(line, page)
        if len(fixes) > 1:
            yield from _fix_lines(_text(row, "cure"), page)
    if len(shown) < len(group):
        yield from _folded(more_words(len(group) - len(shown)), page, Tone.FAINT)
    if len(fixes) == 1:
        yield from _fix_lines(_text(group[0], "cure"), page)
    yield from _waiver_lines(look_up(group[0], "waiver"), page)


def _folded(text: str, page: Page, tone: Tone | None = None) -> Iterator[str]:
    room = None if page.width is None else max(page.width - len(INDENT), NARROWEST)
    return (INDENT + page.paint(line, tone) for line in fold(text, room))


def _fix_lines(fix: str, page: Page) -> Iterator[str]:
    if fix not in {"-", '""'}:
        yield from _folded(f"fix: {fix}", page)


def _waiver_lines(waiver: Tree, page: Page) -> Iterator[str]:
    if isinstance(waiver, dict):
        owner, reason, expires = (cell(waiver[name]) for name in ("owner", "reason", "expires"))
        if waiver["expired"]:
            yield from _folded(f"its waiver expired on {expires} ({owner}: {reason})", page, Tone.WARN)
        else:
            yield from _folded(f"waived until {expires} ({owner}: {reason})", page, Tone.FAINT)


def _evidence(evidence: Tree) -> Iterator[str]:
    """Figures in one line, then a line for each object of a list: the places where something was seen."""
    if not isinstance(evidence, dict):
        return
    lists = {name: value for name, value in evidence.items() if _is_list_of_objects(value)}
    figures = {name: value for name, value in evidence.items() if name not in lists}
    if figures:
        yield f"evidence: {_figures(figures)}"
    for name, places in lists.items():
        assert isinstance(places, list)
        yield from (f"{escape_controls(name)}: {_figures(place)}" for place in places if isinstance(place, dict))


def _is_list_of_objects(value: Tree) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)


def _figures(named: dict[str, Tree]) -> str:
    return ", ".join(f"{escape_controls(name)} {_figure(name, value)}" for name, value in named.items())


def _figure(name: str, value: Tree) -> str:
    return rfc3339(value) if name in TIMES and isinstance(value, int) and value >= 0 else cell(value)


def _text(row: Tree, path: str) -> str:
    return cell(look_up(row, path))
