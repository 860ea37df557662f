package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
)

// quietHeap is how many bytes this process may use before the first garbage collection.
const quietHeap = 64 << 20

// collectLate puts off the first garbage collection until the process uses quietHeap: most commands end before, and
// spend a fifth of their time on collections otherwise. From the first one on it is as Go has it by default. Who sets GOGC or GOMEMLIMIT
// keeps what they said.
func collectLate() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(quietHeap)
	// Nothing refers to this object, so the first collection finds it.
	first := new([64]byte)
	runtime.AddCleanup(first, func(struct{}) {
		debug.SetMemoryLimit(math.MaxInt64)
		debug.SetGCPercent(100)
	}, struct{}{})
}
