// Package columns holds rows column by column and writes and reads them as Parquet.
//
// It is the only package that knows how Parquet is spelled. It works on arrow-go's column chunk writers
// directly: their Arrow layer would double the compile cost of everything above and convert every
// value once more. The types are the ones that evidence needs and no more; a list and a map are the
// standard LIST and MAP groups, so every reader of Parquet understands the files.
//
// The bytes follow from the rows alone: no time, no host, no map order. Two writers that were given the
// same rows in the same order write the same file, on any machine, with one version of flameox.
//
// It never knows what a column means, and never guesses a type: a file whose columns are not the expected
// ones is an error that names the file and the column.
package columns
