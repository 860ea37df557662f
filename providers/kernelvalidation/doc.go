// Package kernelvalidation reads documents in which a program says how far the outputs of a kernel are from those of a reference.
//
// There is no producer to run: whoever wrote the kernel compares it, in any language, and writes a document of the schema
// flameox.kernel-validation.v2 (schemas/kernel-validation.schema.json). What flameox adds is distrust. The document is read strictly, without unknown
// members and without conversions, and every status in it is computed again: a metric from its value and its threshold, an output from its
// metrics, a case from its outputs, the document from its cases. One that says something else of itself is refused whole, because
// nobody could tell which half of it is wrong.
//
// A document belongs to the run that left it. It is appended to that run by registration (stages/register), which derives what it knows
// of the producer from the document and everything else from the run. A file from elsewhere can be imported; then it says nothing of any run here.
//
// What it never does: compare numbers with each other that the document did not compare, or take "it compiled" for "it is right".
package kernelvalidation
