// Package configure has the commands about the configuration itself: they read it, check it, write it, and run nothing.
package configure
