"""Where each rule's condition is made on a real cluster, found, cured as printed, and seen gone.

The rules that are not here say themselves why (Rule.unproven); a test of tests/project holds the two together.
"""

from typing import Final

PROVED: Final = {
    "test_offsets_where_connectors_resume": "092",
    "test_doctor": "013 023 030 031 052 080 130 131 132",
    "test_rules_of_brokers": "040 041 042 053 054 110 111 115 116 117",
    "test_rules_of_connectors": "073 084 089 100 101 102 103 104 105 106 108 114",
    "test_rules_of_records": "060 061 062 063 064 065 066 067 068 069 070 071 072 081 082 083 085 086 087 088 090",
    "test_rules_of_workers": "002 003 010 011 012 014 015 016 017 020 021 022 024 043 044 050 051 107 112 113",
}
