// Package lang is the language of flameox.hcl: HCL files are loaded, checked, expanded into instances and decoded
// into option structs.
//
// It knows files, expressions, references, axes and diagnostics. It knows no kind of stage: block types register
// their schema with a Registry, so a new stage or provider never edits this package.
//
// The work is done in two steps, so that a command that only looks at declarations pays only for them:
//
//   - Load reads the files, evaluates variables and locals, and checks everything that can be checked without
//     values: types, labels, arguments, references, results.
//   - Config.Expand orders the blocks, joins axes, evaluates arguments and makes instances.
//
// Both report every error they find and go on; a block that is broken is left out silently wherever it is used, so one
// mistake is one diagnostic. Expand may be called after Load failed and reports what Load could not see.
//
// References are static: which block an argument refers to can be read off the source, never computed. That keeps the
// graph the same whatever the values are, lets a plan explain itself, and makes expanding 10,000 instances
// a join instead of 10,000 evaluations: only the arguments that mention an axis are evaluated per instance.
//
// Values that exist only while a stage runs travel through expressions as tokens (internal/token); results exist only after apply and are
// allowed only in Deferred expressions. The values of sensitive variables are tokens too: they enter no argument, key or
// diagnostic.
//
// The package never starts a process, never writes, and reads only through lang/source.
package lang
