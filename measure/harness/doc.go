// Package harness says what the runner wants of a benchmark harness, and holds what all of them share: how precision is asked for, what a case is, what a
// translation holds.
//
// A harness has two halves. The driving half finds the suite, lists its cases and says which command measures one; it starts nothing itself but by the Start
// it is given. The translating half reads what that command left and says what was measured; it is a function of its arguments alone, so that a result can be made again, byte for byte, from the
// artifacts of its attempt.
//
// No harness invents: what the native output does not say is missing in the result, and what cannot be mapped is an error that keeps the output.
package harness
