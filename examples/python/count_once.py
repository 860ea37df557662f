"""One count, for a memory profiler."""

import sys

import wordstat

counts = wordstat.IMPLEMENTATIONS[sys.argv[1]](wordstat.text(int(sys.argv[2])))
print(sum(counts.values()), "words")
