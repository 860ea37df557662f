// Package session turns what a command line says into work orders, and runs them in the order that makes their results comparable.
//
// Settings are flags over the project's file over what is built in, and every refusal that can be known is made before anything runs. A bench is one order. A comparison is 2R orders:
// in each of R rounds one for the baseline and one for the contender, so that what drifts on the machine touches both sides alike. Each order is written, run, and delivered before the next, so
// that a session that is stopped keeps what was delivered; comparing afterwards what the store holds gives the same document as the session itself, which is why the session judges nothing.
//
// The package knows no store: whoever starts a session delivers.
package session
