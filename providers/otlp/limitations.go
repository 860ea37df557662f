package otlp

import (
	"fmt"
	"strings"

	"github.com/flameox/flameox/evidence"
	"github.com/flameox/flameox/formats/otlp"
)

// texts is what each note says behind its count.
var texts = map[string]string{
	otlp.InvalidTraceID:   "trace ids have not 16 bytes; they are kept as invalid-<hex>",
	otlp.InvalidSpanID:    "span ids have not 8 bytes; they are kept as invalid-<hex>",
	otlp.InvalidParentID:  "ids of parents have not 8 bytes; they are kept as invalid-<hex>",
	otlp.InvalidLinkID:    "ids of links have another length than they must; they are kept as invalid-<hex>",
	otlp.ZeroID:           "ids are all zero, which the protocol calls invalid; such a parent is none",
	otlp.MissingTimestamp: "spans have no begin or no end, and so no duration",
	otlp.EndBeforeStart:   "spans end before they begin; their times are kept, and they have no duration",
	otlp.TooLong:          "spans last longer than 64 bits of nanoseconds, and have no duration",
	otlp.OwnParent:        "spans are their own parents",
	otlp.DuplicateKey:     "attributes stand twice in one list; the last value is kept",
	otlp.NullAttribute:    "attributes have no value, as SDKs in JavaScript write NaN; they are null",
	otlp.UnknownField:     "fields are not known to this reader, and are left out",
	otlp.EnumName:         "enums are written by name, which the protocol forbids; they are read",
	otlp.Base64ID:         "ids are base64 where the protocol wants hexadecimal; they are read",
	otlp.LoneSurrogate:    "records hold halves of surrogate pairs, which no text can hold; each is U+FFFD",
	otlp.RecordLost:       "records cannot be read and are left out",
	otlp.OtherSignals:     "documents hold metrics, logs or profiles, which are not traces; they are left out",
	otlp.LastCut:          "document at the end breaks off; what of it was whole is kept",
}

// limitations are what the evidence says with a restriction.
func limitations(sum *otlp.Summary) (list []evidence.Limitation) {
	for _, n := range sum.Notes {
		list = append(list, say(n))
	}
	return list
}

func say(n otlp.Note) evidence.Limitation {
	text := fmt.Sprintf("%d %s", n.Count, texts[n.Code])
	var where []string
	switch n.Code {
	case otlp.OtherSignals, otlp.LastCut, otlp.UnknownField:
	default:
		for _, s := range n.First {
			where = append(where, fmt.Sprintf("span:%d", s))
		}
	}
	if n.Text != "" {
		where = append(where, fmt.Sprintf("first: %.120q", n.Text))
	}
	if len(where) > 0 {
		text += " (" + strings.Join(where, ", ") + ")"
	}
	return evidence.Limitation{Code: n.Code, Text: text}
}

// unreadable is a payload of which no record could be read.
func unreadable(sum *otlp.Summary) evidence.Limitation {
	for _, n := range sum.Notes {
		if n.Code == otlp.RecordLost {
			return evidence.Limitation{Code: n.Code, Text: fmt.Sprintf("none of its %d records can be read: %s", n.Count, n.Text)}
		}
	}
	return evidence.Limitation{Code: otlp.RecordLost, Text: "none of its records can be read"}
}
