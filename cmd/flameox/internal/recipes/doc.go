// Package recipes has the command recipe: the questions that people ask of evidence again and again, each answered from a view of the same name that
// `flameox query` has too. Answers are bounded and go on behind a cursor; beside them stands how complete the evidence is that they come from.
package recipes
