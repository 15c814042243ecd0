"""How `docs/conf.py` lets browsers break the lines of a page."""

import re
import runpy
from pathlib import Path

BLOCK = '<div class="highlight-{} notranslate"><div class="highlight"><pre><span></span>{}\n</pre></div></div>'


def broken(root: Path, body: str) -> str:
    context = {"body": body}
    runpy.run_path(str(root / "docs" / "conf.py"))["_break_lines_well"](None, "", "", context, None)
    assert re.sub("<[^>]*>", "", context["body"]) == re.sub("<[^>]*>", "", body), "a copied text is the page's source"
    return context["body"]


def test_a_name_breaks_between_its_parts_where_a_column_or_the_line_is_too_narrow(root: Path):
    cell = broken(root, "<td><p>TransactionalIdNotFoundException: __transaction_state</p></td>")
    assert "Transactional<wbr>Id<wbr>Not<wbr>Found<wbr>Exception: __<wbr>transaction_<wbr>state" in cell
    assert broken(root, "<td><p>KafkaConnect</p></td>") == "<td><p>KafkaConnect</p></td>"
    assert broken(root, "<p>read_committed and SASL_PLAINTEXT</p>") == "<p>read_committed and SASL_PLAINTEXT</p>"
    long = broken(root, "<p>Source: TransactionMarkerChannelManager.addTxnMarkersToBrokerQueue, KIP-98</p>")
    assert "Manager.<wbr>add<wbr>Txn<wbr>Markers" in long


def test_code_in_a_text_stays_whole_if_it_is_short(root: Path):
    assert broken(root, '<span class="pre">--connect-url</span>') == '<span class="pre short">--connect-url</span>'
    assert "short" not in broken(root, '<span class="pre">transaction.max.timeout.ms=900000</span>')


def test_words_of_a_command_stay_whole_and_an_address_breaks_after_a_slash(root: Path):
    command = (
        'curl<span class="w"> </span>-X<span class="w"> </span>PUT<span class="w"> </span>http://w:1/connectors/a/stop'
    )
    shown = broken(root, BLOCK.format("sh", command))
    assert '<span class="whole">-X</span>' in shown
    assert '<span class="whole">http://<wbr>w:1/<wbr>connectors/<wbr>a/<wbr>stop</span>' in shown
    assert '<span class="w"> </span>PUT' in shown
    time = broken(root, BLOCK.format("sh", '--since<span class="w"> </span><span class="m">2026</span>-01-31'))
    assert '<span class="whole"><span class="m">2026</span>-01-31</span>' in time


def test_output_wraps_unless_it_has_columns(root: Path):
    assert "highlight-none" in broken(root, BLOCK.format("text", "7 of 7 steps are done."))
    assert "highlight-text" in broken(root, BLOCK.format("text", "TOPIC  PARTITION"))
