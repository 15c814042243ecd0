"""Findings of each severity, with evidence as an audit gives it."""

from eosctl.analysis.catalogue import audit
from eosctl.model.report import Finding, Severity

RICH_FINDINGS = (
    Finding(
        audit.START_WITHOUT_FENCING,
        Severity.ERROR,
        "invoices-cdc",
        "its tasks started after the commit at offset 111 of connect-configs, and no task-count record lies between: "
        "the producers of before were not fenced",
        "upgrade every worker to exactly.once.source.support=enabled, then `eosctl fence --connector invoices-cdc`",
        {"topic": "connect-configs", "partition": 0, "commit_offset": 111, "first_write_offset": 118},
    ),
    Finding(
        audit.ZOMBIE_WRITER,
        Severity.ERROR,
        "invoices-cdc",
        "producers 4020/3 and 9917/0 wrote offsets of one task in turns, from offset 41,208 to 41,266",
        "find the process that holds producer 9917, stop it, and read the connector's output again from 41,208",
        {
            "topic": "connect-offsets",
            "partition": 1,
            "first_offset": 41208,
            "last_offset": 41266,
            "writers": ["4020/3", "9917/0"],
        },
    ),
    Finding(
        audit.OFFSET_SET_BACK,
        Severity.ERROR,
        "orders-cdc",
        'the offset of {"table":"lines"} went from 90,114 back to 88,102: 2,012 rows were read twice',
        "remove the doubled rows downstream; the keys are those between both offsets",
        {
            "connectors": ["orders-cdc"],
            "places": [
                {
                    "topic": "connect-offsets",
                    "partition": 4,
                    "offset": 60113,
                    "before": {"id": 90114},
                    "after": {"id": 88102},
                },
                {
                    "topic": "connect-offsets",
                    "partition": 4,
                    "offset": 60190,
                    "before": {"id": 90380},
                    "after": {"id": 90114},
                },
            ],
        },
    ),
    Finding(
        audit.HANGING_TRANSACTION,
        Severity.WARNING,
        "invoices-cdc-2",
        "the transaction of producer 9917 has been open for 5 hours; read_committed consumers are stalled",
        "`eosctl transactions abort --topic invoices-cdc --partition 2`",
        {"topic": "invoices-cdc", "partition": 2, "start_offset": 88977, "producer_id": 9917},
    ),
    Finding(
        audit.EXPIRED_RANGE,
        Severity.WARNING,
        "legacy-import",
        "offsets 14,200 to 18,211 of legacy-import-2 expired before this audit",
        "audit more often than the topic's retention.ms",
        {"topic": "legacy-import", "partition": 2, "start": 14200, "end": 18211},
    ),
    Finding(
        audit.DATA_OUTSIDE_TRANSACTION,
        Severity.INFO,
        "payments-cdc",
        "7 records lie outside any transaction, all from before the connector became transactional",
        "nothing to do",
        {"topic": "payments-cdc", "partition": 0, "records": 7},
    ),
)
