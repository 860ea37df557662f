// Package ready is the queue of what may run: best first, and aside what waits until a running one has made the same result. Every step costs the logarithm of
// what waits, so an experiment with as many ready stages as it likes is applied in a time that grows with their number and not with its square.
//
// It knows nothing of stages, and decides nothing about them.
package ready
