//go:build cgo

package query

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// columnsOf reads the columns of an answer.
func columnsOf(stmt *duckdb.Stmt, rows driver.Rows) ([]Column, error) {
	var out []Column
	for i, name := range rows.Columns() {
		info, err := stmt.ColumnTypeInfo(i)
		if err != nil {
			return nil, fmt.Errorf("query: column %s: %w", name, err)
		}
		t, err := typeOf(info)
		if err != nil {
			return nil, &Error{Message: fmt.Sprintf("column %s: %v", name, err), Hint: fmt.Sprintf("Cast it: %s::VARCHAR.", ident(name))}
		}
		out = append(out, Column{name, t})
	}
	return out, nil
}

func typeOf(info duckdb.TypeInfo) (Type, error) {
	sql := info.InternalType()
	bits := func(k Kind, n int) (Type, error) { return Type{Kind: k, Bits: n}, nil }
	switch sql {
	case duckdb.TYPE_BOOLEAN:
		return Type{Kind: KindBool}, nil
	case duckdb.TYPE_TINYINT:
		return bits(KindInt, 8)
	case duckdb.TYPE_SMALLINT:
		return bits(KindInt, 16)
	case duckdb.TYPE_INTEGER:
		return bits(KindInt, 32)
	case duckdb.TYPE_BIGINT:
		return bits(KindInt, 64)
	case duckdb.TYPE_UTINYINT:
		return bits(KindUint, 8)
	case duckdb.TYPE_USMALLINT:
		return bits(KindUint, 16)
	case duckdb.TYPE_UINTEGER:
		return bits(KindUint, 32)
	case duckdb.TYPE_UBIGINT:
		return bits(KindUint, 64)
	case duckdb.TYPE_FLOAT:
		return bits(KindFloat, 32)
	case duckdb.TYPE_DOUBLE:
		return bits(KindFloat, 64)
	case duckdb.TYPE_HUGEINT, duckdb.TYPE_UHUGEINT:
		return Type{Kind: KindBig, SQL: "HUGEINT"}, nil
	case duckdb.TYPE_DECIMAL:
		d, ok := info.Details().(*duckdb.DecimalDetails)
		if !ok {
			return Type{}, fmt.Errorf("a decimal without precision")
		}
		return Type{Kind: KindDecimal, Precision: int(d.Width), Scale: int(d.Scale)}, nil
	case duckdb.TYPE_VARCHAR, duckdb.TYPE_ENUM, duckdb.TYPE_UUID:
		return Type{Kind: KindText}, nil
	case duckdb.TYPE_BLOB:
		return Type{Kind: KindBlob}, nil
	case duckdb.TYPE_TIMESTAMP, duckdb.TYPE_TIMESTAMP_S, duckdb.TYPE_TIMESTAMP_MS, duckdb.TYPE_TIMESTAMP_NS:
		return Type{Kind: KindTimestamp}, nil
	case duckdb.TYPE_TIMESTAMP_TZ:
		return Type{Kind: KindTimestampTZ}, nil
	case duckdb.TYPE_DATE:
		return Type{Kind: KindDate}, nil
	case duckdb.TYPE_TIME:
		return Type{Kind: KindTime}, nil
	case duckdb.TYPE_INTERVAL:
		return Type{Kind: KindInterval}, nil
	case duckdb.TYPE_SQLNULL:
		return Type{Kind: KindNull}, nil
	}
	return nested(info)
}

func nested(info duckdb.TypeInfo) (Type, error) {
	switch d := info.Details().(type) {
	case *duckdb.ListDetails:
		e, err := typeOf(d.Child)
		return Type{Kind: KindList, Elem: &e}, err
	case *duckdb.ArrayDetails:
		e, err := typeOf(d.Child)
		return Type{Kind: KindList, Elem: &e}, err
	case *duckdb.MapDetails:
		k, err := typeOf(d.Key)
		if err != nil {
			return Type{}, err
		}
		v, err := typeOf(d.Value)
		return Type{Kind: KindMap, Key: &k, Elem: &v}, err
	case *duckdb.StructDetails:
		t := Type{Kind: KindStruct}
		for _, e := range d.Entries {
			ft, err := typeOf(e.Info())
			if err != nil {
				return Type{}, err
			}
			t.Fields = append(t.Fields, Column{e.Name(), ft})
		}
		return t, nil
	}
	return Type{}, fmt.Errorf("values of this type of DuckDB (%d) cannot be shown", info.InternalType())
}

// value turns what the driver returns into the Go type of the kind.
func value(t *Type, v any) (any, error) {
	if t.Kind == KindText {
		return textValue(v)
	}
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool, int64, uint64, float64, time.Time:
		return v, nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint8:
		return uint64(v), nil
	case uint16:
		return uint64(v), nil
	case uint32:
		return uint64(v), nil
	case float32:
		return float64(v), nil
	case *big.Int:
		return v, nil
	case duckdb.Decimal:
		return v.Value, nil
	case duckdb.Interval:
		return Interval{v.Months, v.Days, v.Micros}, nil
	case []byte:
		return v, nil
	case []any:
		return list(t, v)
	case map[string]any:
		out := make([]any, len(t.Fields))
		for i, f := range t.Fields {
			x, err := value(&f.Type, v[f.Name])
			if err != nil {
				return nil, err
			}
			out[i] = x
		}
		return out, nil
	case duckdb.OrderedMap:
		return entries(t, v.Keys(), v.Values())
	case *duckdb.OrderedMap:
		return entries(t, v.Keys(), v.Values())
	}
	return nil, fmt.Errorf("a value of the type %T cannot be shown; cast the column to VARCHAR", v)
}

// textValue is a text, a UUID, or a value of DuckDB's JSON type, which the driver has decoded.
func textValue(v any) (any, error) {
	switch v := v.(type) {
	case nil, string:
		return v, nil
	case duckdb.UUID:
		return v.String(), nil
	case []byte:
		if len(v) == 16 {
			var u duckdb.UUID
			copy(u[:], v)
			return u.String(), nil
		}
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func list(t *Type, v []any) (any, error) {
	if t.Elem == nil {
		return nil, fmt.Errorf("a list where %d is no list", t.Kind)
	}
	out := make([]any, len(v))
	for i, x := range v {
		y, err := value(t.Elem, x)
		if err != nil {
			return nil, err
		}
		out[i] = y
	}
	return out, nil
}

func entries(t *Type, keys, values []any) (any, error) {
	if t.Kind != KindMap {
		return nil, fmt.Errorf("a map where none was announced")
	}
	out := make([]Entry, len(keys))
	for i := range keys {
		k, err := value(t.Key, keys[i])
		if err != nil {
			return nil, err
		}
		x, err := value(t.Elem, values[i])
		if err != nil {
			return nil, err
		}
		out[i] = Entry{k, x}
	}
	return out, nil
}
