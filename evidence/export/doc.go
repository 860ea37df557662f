// Package export writes tables of the published evidence to plain files that depend on nothing of the workspace: one file a table,
// as Parquet, CSV, JSON lines or Arrow, for a notebook or a spreadsheet.
//
// What a column means goes along: the units and the documentation of the columns are in the metadata of a Parquet file, and for all formats in
// columns.json beside the files. Rows of sensitive runs are left out unless they are asked for. A file has its name when it is whole.
//
// A build without DuckDB copies the published files as they are, which is all it can do: Parquet, without a condition, and only where
// no run is sensitive.
package export
