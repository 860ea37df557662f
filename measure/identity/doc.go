// Package identity says which results belong to one series: points that differ in nothing that their policy holds to matter but the one fact that orders them.
//
// A result reports coordinates and never an identity of its own. A policy gives every fact a role (match, ignore, axis), a projection keeps the facts that
// match, and the digest of what it keeps, by the policy's name, is the comparison identity. A series is that and an estimator, so that a new
// estimator renames nothing. A matched fact whose value is null agrees with nothing: such a result has no series, and Unseriable says by which fact.
package identity
