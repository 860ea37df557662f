"""A pyperf script: flameox passes pyperf's own options to it."""

import pyperf

import wordstat


def add_arguments(cmd, args):
    # pyperf starts this script again for every process, with its own options only.
    cmd.extend(["--impl", args.impl, "--words", str(args.words)])


runner = pyperf.Runner(add_cmdline_args=add_arguments)
runner.argparser.add_argument("--impl", choices=sorted(wordstat.IMPLEMENTATIONS), required=True)
runner.argparser.add_argument("--words", type=int, required=True)
args = runner.parse_args()

runner.bench_func("count", wordstat.IMPLEMENTATIONS[args.impl], wordstat.text(args.words))
