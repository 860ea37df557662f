// Package importing is the command that makes a block of the configuration for an existing file. It looks at how the file begins and at nothing else of it: reading the
// whole file, and saying what is wrong with it, is the import's own work when it is applied, in a bounded process.
package importing
