"""`coverage run` with options that only coverage's configuration has, and its command line has not: -c RUN OPTIONS ARGUMENT OF COVERAGE...

OPTIONS is a JSON object of names and values. They count as if they stood in the configuration, also in processes that the program starts.
"""
import json
import os
import sys

import coverage
import coverage.cmdline

OPTIONS = json.loads(sys.argv.pop(1))


class Coverage(coverage.Coverage):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        for name, value in OPTIONS.items():
            self.set_option(name, value)
        # Other processes get the configuration as text, but for that coverage wants to have read a file.
        if self.config.config_file is None:
            self.config.config_file = os.devnull


coverage.cmdline.Coverage = Coverage
sys.exit(coverage.cmdline.main(sys.argv[1:]))
