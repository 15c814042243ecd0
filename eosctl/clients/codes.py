"""Kafka's error codes: the names that eosctl acts on, and the name of any."""

from typing import Final

UNKNOWN_SERVER_ERROR: Final = -1
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
COORDINATOR_LOAD_IN_PROGRESS: Final = 14
COORDINATOR_NOT_AVAILABLE: Final = 15
NOT_COORDINATOR: Final = 16
CLUSTER_AUTHORIZATION_FAILED: Final = 31
INVALID_REQUEST: Final = 42
INVALID_PRODUCER_EPOCH: Final = 47
INVALID_TXN_STATE: Final = 48
INVALID_PRODUCER_ID_MAPPING: Final = 49
INVALID_TRANSACTION_TIMEOUT: Final = 50
CONCURRENT_TRANSACTIONS: Final = 51
TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Final = 53
PRODUCER_FENCED: Final = 90


def code_name(code: int) -> str:
    """The name of an error code as Kafka writes it, such as PRODUCER_FENCED; `UNKNOWN_ERROR_<code>` for a newer one."""
    import kafka.errors

    if code == UNKNOWN_SERVER_ERROR:
        return "UNKNOWN_SERVER_ERROR"
    name = str(kafka.errors.for_code(code).message)
    return f"UNKNOWN_ERROR_{code}" if name == "UNKNOWN" and code > 0 else name
