// Package storage has the commands about the store: checking it, making room, carrying evidence elsewhere.
package storage
