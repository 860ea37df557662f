// Package cmdline is what the commands of flameox share: global flags, opening a workspace and its configuration, exit codes, and how a
// document or a diagnostic is printed. It decides nothing and knows no command.
package cmdline
