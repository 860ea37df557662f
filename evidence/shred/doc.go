// Package shred keeps JSON documents of one schema as rows of a Parquet file whose columns follow from the schema.
//
// A closed object is a struct, an array a list, a date-time a timestamp in microseconds, an integer an int64, a number a double; what the schema leaves open, and a
// member of several types, is its canonical text with Parquet's type JSON. What a schema allows in several shapes (a number or an object with a value) is the struct with all of their
// members. A schema with anything else is an error when the fields are made, and never a column of something else.
//
// A file grows by whole row groups: Assemble copies those of other files as bytes, so that appending to a large file costs a copy and no decoding, and the
// large part of the copy is shared blocks where the file system can.
package shred
