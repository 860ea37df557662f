// Package starter makes the first configuration of a folder: it looks at what is there and writes a commented flameox.hcl that measures
// it.
//
// What it writes has to work as it stands, so it is careful rather than complete: what cannot be seen from names and a little parsing is
// left to the person, with a comment. It never looks outside the folder, also not through a link, never reads more than a bounded number of
// files, runs nothing and writes nothing.
package starter
