// Package providertest is the conformance suite of providers: what every provider must do with payloads that are
// missing, cut, foreign, empty, changed or too large, whatever its format.
//
// A provider's test calls Run with payloads of its producer, made by running the producer or taken
// from a fixture. The suite writes them as immutable files and calls the provider as the engine does. Unknown
// options are the language's to refuse, before a provider sees a struct; here it is checked that every option field carries the
// tags by which the language knows it, and that a struct of another type is an error and no panic.
//
// It is imported by tests only.
package providertest
