// Package machine is the commands that say what this machine is and what it can do: host, and providers; and the machine that a plan is
// made for. They look and ask, and change nothing.
package machine
