// Package document holds the documents of measuring and comparing: what a work order asks for, what a result says, how they are named and hashed, and what makes one
// invalid.
//
// A document is a file before it is anything else: the file that the runner writes is byte for byte what is ingested and hashed. So a document is read strictly (internal/ijson),
// held as the value that was read, and validated by its JSON Schema in schemas/measurement and by the rules that no schema can express. The Go structs are views of such a value
// for code that makes or reads documents; nothing is hashed by way of them but what they were made from.
//
// The package measures nothing, stores nothing, and decides no verdict.
package document
