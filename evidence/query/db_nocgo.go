//go:build !cgo

package query

import (
	"context"
	"io"
)

// Available says whether this build can answer SQL.
const Available = false

// DB is one pinned generation. In this build Open never returns one.
type DB struct{}

// Open returns ErrNoDuckDB.
func Open(string, Options) (*DB, error) { return nil, ErrNoDuckDB }

// Close does nothing.
func (db *DB) Close() error { return nil }

// Withheld is zero.
func (db *DB) Withheld() int { return 0 }

// Query returns ErrNoDuckDB.
func (db *DB) Query(context.Context, string, Format, io.Writer) error { return ErrNoDuckDB }

// Each returns ErrNoDuckDB.
func (db *DB) Each(context.Context, string, func([]Column, []any) error) error { return ErrNoDuckDB }

// Parquet returns ErrNoDuckDB.
func (db *DB) Parquet(context.Context, string, map[string]string, io.Writer) error {
	return ErrNoDuckDB
}
