// Package flags makes every command of an urfave/cli application read its arguments
// the same way, the way a person types them:
//
//   - flags stand before or after positionals, and a flag of an enclosing command
//     (-C, -no-color) may also stand after the name of an inner one;
//   - one dash or two, -flag value or -flag=value; a value may start with a dash;
//   - a bool flag never takes the next argument: -json false is a flag and a positional;
//   - everything after -- is positional, also what looks like a flag;
//   - a lone - and negative numbers are positionals;
//   - a repeated flag keeps each value whole: commas never split it, in the environment neither;
//   - a flag or command that does not exist is an error of one line with the nearest name.
//
// The parser of urfave/cli v2 stops at the first positional, splits at commas, prints its whole
// help on a mistake and has a hidden "help" command below every command, so that the positional
// "help" disappears. This package therefore reads the arguments itself against the declared flags
// and hands cli a canonical form in which none of that can happen. Flags are still declared,
// converted and documented by cli.
//
// It never prints an error and never ends the process: main does both, with ExitCode.
package flags
