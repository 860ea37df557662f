package main

import (
	"testing"

	"github.com/flameox/flameox/internal/flags/flagstest"
)

// Every command takes flags before and after positionals, honours --, and never splits at commas.
func TestEveryCommandReadsItsArgumentsTheSameWay(t *testing.T) {
	flagstest.Check(t, newApp)
}
