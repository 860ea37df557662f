package query

import (
	"fmt"
	"io"
	"math/big"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batchRows is how many rows one record batch of a stream has.
const batchRows = 16_384

type arrowEncoder struct {
	cols    []Column
	builder *array.RecordBuilder
	w       *ipc.Writer
	rows    int
}

func newArrow(w io.Writer, cols []Column) (*arrowEncoder, error) {
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		t, err := arrowType(&c.Type)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", c.Name, err)
		}
		fields[i] = arrow.Field{Name: c.Name, Type: t, Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	return &arrowEncoder{
		cols:    cols,
		builder: array.NewRecordBuilder(memory.DefaultAllocator, schema),
		w:       ipc.NewWriter(w, ipc.WithSchema(schema)),
	}, nil
}

func arrowType(t *Type) (arrow.DataType, error) {
	switch t.Kind {
	case KindNull:
		return arrow.Null, nil
	case KindBool:
		return arrow.FixedWidthTypes.Boolean, nil
	case KindInt:
		switch t.Bits {
		case 8:
			return arrow.PrimitiveTypes.Int8, nil
		case 16:
			return arrow.PrimitiveTypes.Int16, nil
		case 32:
			return arrow.PrimitiveTypes.Int32, nil
		}
		return arrow.PrimitiveTypes.Int64, nil
	case KindUint:
		switch t.Bits {
		case 8:
			return arrow.PrimitiveTypes.Uint8, nil
		case 16:
			return arrow.PrimitiveTypes.Uint16, nil
		case 32:
			return arrow.PrimitiveTypes.Uint32, nil
		}
		return arrow.PrimitiveTypes.Uint64, nil
	case KindFloat:
		if t.Bits == 32 {
			return arrow.PrimitiveTypes.Float32, nil
		}
		return arrow.PrimitiveTypes.Float64, nil
	case KindBig: // up to 39 digits, one more than 128 bits of decimal promise
		return &arrow.Decimal256Type{Precision: 39}, nil
	case KindDecimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}, nil
	case KindText:
		return arrow.BinaryTypes.String, nil
	case KindBlob:
		return arrow.BinaryTypes.Binary, nil
	case KindTimestamp:
		return &arrow.TimestampType{Unit: arrow.Microsecond}, nil
	case KindTimestampTZ:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, nil
	case KindDate:
		return arrow.FixedWidthTypes.Date32, nil
	case KindTime:
		return arrow.FixedWidthTypes.Time64us, nil
	case KindInterval:
		return arrow.FixedWidthTypes.MonthDayNanoInterval, nil
	case KindList:
		e, err := arrowType(t.Elem)
		if err != nil {
			return nil, err
		}
		return arrow.ListOf(e), nil
	case KindMap:
		k, err := arrowType(t.Key)
		if err != nil {
			return nil, err
		}
		v, err := arrowType(t.Elem)
		if err != nil {
			return nil, err
		}
		return arrow.MapOf(k, v), nil
	case KindStruct:
		var fields []arrow.Field
		for _, f := range t.Fields {
			ft, err := arrowType(&f.Type)
			if err != nil {
				return nil, err
			}
			fields = append(fields, arrow.Field{Name: f.Name, Type: ft, Nullable: true})
		}
		return arrow.StructOf(fields...), nil
	}
	return nil, fmt.Errorf("%s has no Arrow type; cast it to VARCHAR", t.SQL)
}

func (e *arrowEncoder) row(values []any) error {
	for i, v := range values {
		if err := appendArrow(e.builder.Field(i), &e.cols[i].Type, v); err != nil {
			return fmt.Errorf("column %s: %w", e.cols[i].Name, err)
		}
	}
	e.rows++
	if e.rows == batchRows {
		return e.flush()
	}
	return nil
}

func (e *arrowEncoder) flush() error {
	e.rows = 0
	batch := e.builder.NewRecordBatch()
	defer batch.Release()
	return e.w.Write(batch)
}

func (e *arrowEncoder) close() error {
	defer e.builder.Release()
	if e.rows > 0 {
		if err := e.flush(); err != nil {
			return err
		}
	}
	return e.w.Close()
}

func appendArrow(b array.Builder, t *Type, v any) error {
	if v == nil {
		b.AppendNull()
		return nil
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.(bool))
	case *array.Int8Builder:
		b.Append(int8(v.(int64)))
	case *array.Int16Builder:
		b.Append(int16(v.(int64)))
	case *array.Int32Builder:
		b.Append(int32(v.(int64)))
	case *array.Int64Builder:
		b.Append(v.(int64))
	case *array.Uint8Builder:
		b.Append(uint8(v.(uint64)))
	case *array.Uint16Builder:
		b.Append(uint16(v.(uint64)))
	case *array.Uint32Builder:
		b.Append(uint32(v.(uint64)))
	case *array.Uint64Builder:
		b.Append(v.(uint64))
	case *array.Float32Builder:
		b.Append(float32(v.(float64)))
	case *array.Float64Builder:
		b.Append(v.(float64))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromBigInt(v.(*big.Int)))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromBigInt(v.(*big.Int)))
	case *array.StringBuilder:
		b.Append(v.(string))
	case *array.BinaryBuilder:
		b.Append(v.([]byte))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.(time.Time).UnixMicro()))
	case *array.Date32Builder:
		b.Append(arrow.Date32FromTime(v.(time.Time)))
	case *array.Time64Builder:
		d := v.(time.Time)
		midnight := time.Date(d.Year(), d.Month(), d.Day(), 0, 0, 0, 0, d.Location())
		b.Append(arrow.Time64(d.Sub(midnight).Microseconds()))
	case *array.MonthDayNanoIntervalBuilder:
		i := v.(Interval)
		b.Append(arrow.MonthDayNanoInterval{Months: i.Months, Days: i.Days, Nanoseconds: i.Micros * 1000})
	case *array.MapBuilder: // before the list, which a map builder also is
		b.Append(true)
		for _, e := range v.([]Entry) {
			if err := appendArrow(b.KeyBuilder(), t.Key, e.Key); err != nil {
				return err
			}
			if err := appendArrow(b.ItemBuilder(), t.Elem, e.Value); err != nil {
				return err
			}
		}
	case *array.ListBuilder:
		b.Append(true)
		for _, x := range v.([]any) {
			if err := appendArrow(b.ValueBuilder(), t.Elem, x); err != nil {
				return err
			}
		}
	case *array.StructBuilder:
		b.Append(true)
		for i, x := range v.([]any) {
			if err := appendArrow(b.FieldBuilder(i), &t.Fields[i].Type, x); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("%s cannot be written as Arrow", t.SQL)
	}
	return nil
}
