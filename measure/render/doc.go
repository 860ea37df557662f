// Package render shows results, histories and comparisons of measurements: as tables for a terminal, as Markdown for a review, as one HTML page that needs no network.
//
// It decides nothing: every number and every verdict stands in the document that it is given, and a word that a document has is the word that is shown. Only the HTML
// page is given more than the document, the observations of each round, because a picture of a comparison without them would be a picture of its verdict.
package render
