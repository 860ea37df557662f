// Package loopback is the one HTTP client of flameox. It talks to servers of this machine and to no others, follows no redirect, uses no
// proxy, and bounds time and size, so that a probe can neither leak nor hang.
package loopback
