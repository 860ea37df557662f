// Package adapter lets programs of third parties plan captures and read what those leave, without trusting them more than they need.
//
// A block adapter names a program. Naming it trusts nothing: a project that was just cloned brings such blocks along. The user approves a program by its
// name, version and bytes (stages/adapter/approval, outside the project), and before every phase the bytes are read and compared again, so a program that
// changes between a plan and its execution, or between a validation and an extraction, is refused. What is started is a private
// copy of the bytes that were compared, never the file that lies in the project.
//
// An adapter runs contained (stages/adapter/contain), without the network, and sees its own program, the system's, one payload and a folder that is thrown
// away. It says what goes in front of the workload's command and which files will be there afterwards, and flameox does the rest: it starts the command, takes the files
// through the no-follow boundary into the store, and only then lets the adapter look at them. What the adapter answers is an answer in the protocol
// (stages/adapter/protocol), or it is refused. Its rows are in one table, adapter_extractions, under its own name.
//
// What it never does: call a provider qualified, or let an adapter write rows into the tables of others: what "ns" means there, flameox vouches for.
package adapter
