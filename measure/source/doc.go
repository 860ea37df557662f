// Package source says what exactly is measured: where a checkout comes from, which revision it has, whether it was changed, and the object id of its working tree as it is.
//
// What cannot be known is unknown and never clean. Nothing here changes a repository: the tree is written into a folder of its own, with the repository's objects behind it.
package source
