"""The questions of a probe: what Kafka does, and what it means where a cluster does it or does otherwise."""

from typing import Final

from eosctl.model.probe import Check, Meaning
from eosctl.model.report import Severity

PRODUCER_APIS: Final = Check(
    "producer-apis",
    "Do all brokers answer the requests of transactional producers and their consumers?",
    Severity.ERROR,
    Meaning("tasks with exactly-once can start", "`fence`, `migrate-offsets`, `audit` can ask"),
    Meaning("tasks with exactly-once fail when they start", "`fence`, `migrate-offsets` and `audit` fail (6)"),
)
TOOL_APIS: Final = Check(
    "tool-apis",
    "Do all brokers answer the requests of KIP-664 and KIP-699, which tools need?",
    Severity.WARNING,
    Meaning("not needed", "the `transactions` commands can ask"),
    Meaning("not needed", "commands of the missing APIs (below) fail (6); `doctor` cannot judge transactions"),
)
INIT: Final = Check(
    "init-producer-id",
    "Does InitProducerId give a transactional ID its producer?",
    Severity.ERROR,
    Meaning("workers and tasks with exactly-once can start", "`fence` and `migrate-offsets` can begin"),
    Meaning(
        "no worker can be `preparing` or `enabled`: there are no transactions",
        "`fence`, `migrate-offsets` and `offsets restore` fail",
    ),
)
INIT_TIME: Final = Check(
    "init-producer-id-time",
    "Is InitProducerId answered within a second?",
    Severity.WARNING,
    Meaning("a round of fencing is held up by the worker's admin client only", "`fence` takes some ms for each ID"),
    Meaning(
        "a round of fencing has 90 s for all tasks of a connector: with many tasks it times out and they are FAILED",
        "`fence` of many IDs takes long: raise --timeout",
    ),
)
FENCING_TIMEOUT: Final = Check(
    "fencing-timeout",
    "Is a transaction timeout of 90,000 ms allowed, which workers from 3.7.1 on ask for when they fence?",
    Severity.ERROR,
    Meaning("rounds of fencing are not refused", "nothing: `fence` asks for no more than brokers allow"),
    Meaning(
        "every round of fencing of workers from 3.7.1 on fails, and all tasks of the connector are FAILED",
        "`doctor` reports it as EOS031 where it can read transaction.max.timeout.ms",
    ),
)
OPENED: Final = Check(
    "transaction-opened",
    "Are a partition and a record taken into a transaction?",
    Severity.ERROR,
    Meaning("tasks can write", "`migrate-offsets` and `offsets restore` can write"),
    Meaning("tasks with exactly-once write nothing", "`migrate-offsets` and `offsets restore` fail"),
)
OPEN_HELD: Final = Check(
    "lso-held",
    "Does an open transaction hold the last stable offset back?",
    Severity.ERROR,
    Meaning("read_committed consumers wait for its end", "`transactions lso` shows what is held back"),
    Meaning(
        "consumers that trust ListOffsets read beyond open transactions; workers may start before their config topic "
        "and offsets are decided",
        "`transactions lso` and `doctor` report nothing held back; `audit` and `offsets show` take undecided records "
        "for decided",
    ),
)
OPEN_HIDDEN: Final = Check(
    "open-hidden",
    "Does a read_committed Fetch withhold the records of an open transaction?",
    Severity.ERROR,
    Meaning("no consumer sees what may be aborted yet", "what is read as committed is committed"),
    Meaning(
        "read_committed consumers get records that are aborted later: exactly-once is broken",
        "`audit`, `offsets show` and `inspect-config` take undecided records for committed",
    ),
)
COMMITTED_SHOWN: Final = Check(
    "committed-shown",
    "Do read_committed consumers get the record once its transaction is committed?",
    Severity.ERROR,
    Meaning("what tasks commit arrives", "`migrate-offsets` can verify what it wrote"),
    Meaning("what tasks commit does not arrive, or late", "`migrate-offsets` ends without its verification"),
)
ABORTED_HIDDEN: Final = Check(
    "aborted-hidden",
    "Is the record of an aborted transaction hidden from read_committed consumers?",
    Severity.ERROR,
    Meaning("what a failed task leaves is never read", "aborted records are distinguished"),
    Meaning(
        "whatever a task writes before it fails is read, and again after its restart: exactly-once is broken",
        "`audit`, `offsets show` and `inspect-config` take aborted records for committed",
    ),
)
MARKERS: Final = Check(
    "markers-in-log",
    "Does the log show commit and abort markers?",
    Severity.WARNING,
    Meaning("not needed", "`audit` joins transactions by their markers"),
    Meaning(
        "not needed", "`audit` cannot tell of transactions (EOS211); `inspect-config` takes what is decided for open"
    ),
)
DESCRIBED: Final = Check(
    "describe-transactions",
    "Does DescribeTransactions show the open transaction with its partition?",
    Severity.WARNING,
    Meaning("not needed", "`transactions describe`, and the plan and proof of `fence`, are right"),
    Meaning("not needed", "`fence` shows no plan and no proof that holds; `transactions hanging` cannot judge"),
)
UNUSED: Final = Check(
    "describe-unknown-id",
    "Is a transactional ID that nobody has used not found (TRANSACTIONAL_ID_NOT_FOUND)?",
    Severity.WARNING,
    Meaning("not needed", "`fence` creates no ID by mistake"),
    Meaning("not needed", "`fence` takes IDs for existing that are not, and creates them"),
)
LISTED: Final = Check(
    "list-transactions",
    "Does ListTransactions list it as Ongoing?",
    Severity.WARNING,
    Meaning("not needed", "`transactions list`, `hanging` and `fence --prefix` see all IDs that may be described"),
    Meaning("not needed", "`transactions list` and `fence --prefix` miss IDs; to `hanging` what is open is undecided"),
)
PRODUCERS: Final = Check(
    "describe-producers",
    "Does DescribeProducers show where the open transaction begins?",
    Severity.WARNING,
    Meaning("not needed", "`transactions producers`, `hanging` and `abort` see open transactions"),
    Meaning("not needed", "`transactions hanging` finds nothing, `abort` refuses; what holds readers back has no name"),
)
FENCING_EPOCH: Final = Check(
    "fencing-epoch",
    "Does a second InitProducerId raise the producer epoch?",
    Severity.ERROR,
    Meaning("a task that starts overtakes the former one", "`fence` overtakes the producer"),
    Meaning("zombies of a task go on: its records are written twice", "`fence` fences nobody, and its proof fails"),
)
FENCING_ABORTS: Final = Check(
    "fencing-aborts",
    "Does it abort the open transaction of the first producer?",
    Severity.ERROR,
    Meaning("what a zombie left open is dropped before a task starts", "`fence` unblocks read_committed consumers"),
    Meaning(
        "a task starts while the transaction of its predecessor is undecided: its records may come twice",
        "`fence` does not unblock consumers; wait for the transaction timeout",
    ),
)
ZOMBIE_COMMIT: Final = Check(
    "zombie-commit-refused",
    "Does the coordinator refuse the commit of a fenced producer?",
    Severity.ERROR,
    Meaning("a zombie cannot commit", "the proof of `fence` holds"),
    Meaning("a zombie commits what its successor writes again: exactly-once is broken", "the proof of `fence` fails"),
)
ZOMBIE_ADD: Final = Check(
    "zombie-add-refused",
    "Does the coordinator refuse to begin a transaction for a fenced producer?",
    Severity.ERROR,
    Meaning("a zombie cannot begin again", "a fenced ID stays fenced"),
    Meaning("a zombie begins new transactions beside its successor: exactly-once is broken", "`fence` does not last"),
)
ZOMBIE_WRITE: Final = Check(
    "zombie-write-refused",
    "Does the partition refuse the records of a fenced producer?",
    Severity.ERROR,
    Meaning("a zombie cannot write behind its abort marker", "what was aborted stays so"),
    Meaning(
        "records of a zombie get into the log behind its abort marker, and may be committed or hang there",
        "look with `transactions hanging` after every `fence`",
    ),
)
VERIFIED: Final = Check(
    "partition-verified",
    "Is a batch refused whose partition is not in the transaction (KIP-890, Kafka 3.6)?",
    Severity.INFO,
    Meaning("a late batch cannot hang", "`transactions hanging` should find nothing"),
    Meaning(
        "a batch that arrives late hangs for ever and stops read_committed consumers, workers among them",
        "watch `transactions hanging`",
    ),
)
VERSION: Final = Check(
    "transaction-version",
    "Is transaction.version 2 finalized (KIP-890, Kafka 4.0)?",
    Severity.INFO,
    Meaning("clients from 4.0 on use it by themselves", "`audit` joins transactions by epochs alone"),
    Meaning("as in Kafka before 4.0", "`audit` joins the parts of a transaction by the time of their markers"),
)
BUMPED: Final = Check(
    "epoch-per-transaction",
    "Does every transaction raise the epoch (EndTxn version 5)?",
    Severity.INFO,
    Meaning("a late message of an earlier transaction is refused", "epochs count transactions, not restarts"),
    Meaning("as in Kafka before 4.0", "an epoch spans many transactions"),
)
MARKER_WRITTEN: Final = Check(
    "abort-marker-written",
    "Does WriteTxnMarkers end an open transaction, past its coordinator?",
    Severity.WARNING,
    Meaning("not needed", "`transactions abort` works"),
    Meaning(
        "a transaction that hangs stops workers and consumers until the provider ends it",
        "`transactions abort` fails",
    ),
)
MARKER_REFUSED: Final = Check(
    "marker-right-needed",
    "Is WriteTxnMarkers refused to who has no right to it?",
    Severity.ERROR,
    Meaning("nobody aborts parts of transactions unseen", "`transactions abort` needs Alter on the cluster"),
    Meaning(
        "every client may abort parts of other producers' transactions: nothing proves that a commit was whole",
        "`transactions abort` needs no right; a clean `audit` says less",
    ),
)
