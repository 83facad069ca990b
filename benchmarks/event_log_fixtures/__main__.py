"""Takes out of an event log what it tells of the machine that it was written on.

    python -m benchmarks.event_log_fixtures < spark-events/local-123 > scrubbed

tests/unit/eventlog/event_logs/README.md says how the logs there were made.
"""

import sys

from benchmarks.event_log_fixtures.scrubbed import scrubbed

for line in scrubbed(sys.stdin):
    print(line)
