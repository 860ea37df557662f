// Package measuring holds the commands that measure and compare without a flameox.hcl: bench, compare, run, ingest, series, history, head, target and config.
//
// They are the surface that benchx.conf.json is the project file of. Each reads its flags and that file, calls one package below measure, and prints: data on standard
// output, everything else on standard error. Their exit codes are those of their contract, not those of plan and apply: 0 done, 1 some documents were rejected, 2 refused.
package measuring
