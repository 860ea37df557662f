// Package program is what every stage that runs a declared command shares: what the command contributes to the
// key, how its runtime tokens are filled in, how it is started through the broker, and how its outputs reach the store.
//
// A program runs in the live tree. Its inputs are hashed when the key is made; their stat identity is compared
// right before the start and after the exit, and a difference makes the attempt invalid: a result never
// stands for files it may not have read.
package program
