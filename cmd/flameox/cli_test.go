package main

import (
	"testing"

	"github.com/flameox/flameox/internal/flags/flagstest"
)

// Every command takes flags before and after positionals, honours --, and never splits at commas.
func TestEveryCommandReadsItsArgumentsTheSameWay(t *testing.T) {
	// The name that a comparison gives to what varies is older than the trace of flameox itself.
	flagstest.Check(t, newApp, "compare -profile")
}
