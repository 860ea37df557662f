// Package register has the command that appends a document to the run that left it.
package register
