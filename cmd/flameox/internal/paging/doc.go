// Package paging bounds answers. An answer has a page of rows, and a cursor for the rows behind it that holds for nothing but the question it was given for:
// the same bytes, filters and order. So a page is never shown as the continuation of another answer.
package paging
