"""`limited.py BYTES ARGUMENT…`: eosctl, whose files may not grow beyond this many bytes; 0 is no limit."""

import resource
import sys

from eosctl.cli import main

if __name__ == "__main__":
    if room := int(sys.argv.pop(1)):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    main()
