// Package query answers SQL over the published evidence with DuckDB.
//
// Open pins one generation, so a query that runs while evidence is published sees one moment. Every table
// of the registry is there, also before anything filled it, and so are the views of the package: the row
// tables with their run beside them (<table>_runs), latest, hotspots. The answer leaves as a table for
// people, CSV, JSON, an Arrow stream or a Parquet file.
//
// DuckDB is there to read and for nothing else: after the views are made its access to files is closed but
// for the pinned ones, its configuration is locked, no extension is loaded or downloaded, and only a single
// query is accepted. So a query pasted from elsewhere cannot write, and cannot read what is not evidence.
//
// DuckDB is a C++ library. A build without cgo has the same functions; Open says what is missing and what
// to use instead. Everything but DuckDB itself is built and tested either way.
package query
