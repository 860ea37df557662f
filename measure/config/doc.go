// Package config reads benchx.conf.json, the file in which a project keeps what its measuring commands would otherwise be told by flags.
//
// The file is found by walking up from the working directory, and its directory is the root that its relative paths start from; without a file the root is the working
// directory. What is written on the command line wins over the file, and the file over what is built in; a Value remembers which of them it came from, so that a command can say so.
//
// The package opens no store and runs nothing.
package config
