package lang

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"github.com/flameox/flameox/internal/address"
)

// BlockType describes one type of block: its labels, and the schema it has for each first label.
type BlockType struct {
	Type   string   // "capture"
	Labels []string // names of its labels, the last is "name": ["provider", "name"], or ["name"]
	Doc    string
	// Schemas by first label where the block has two; by "" where it has one.
	Schemas map[string]*Schema
}

// Schema describes the arguments, nested blocks, runtime tokens and result attributes of a block.
//
// Options is a pointer to a struct that is the arguments' only definition. Tags of a field:
//
//	arg      the argument's name, with ",optional" where it may be missing and has no default
//	default  the value where it is missing, written as HCL would write it; implies optional
//	kinds    of a Ref or Refs: what may be referred to, comma separated: "target", "environment.host", "workload"
//	doc      one sentence
//	facet    the facet of the key that the field enters, or "exempt: reason"
//
// Field types: string, bool, int, int64, float64, []string, []int, map[string]string, time.Duration and Bytes (strings with a
// unit), Ref (arity one: the stage fans out over its axes), Refs (arity all: the stage takes every instance),
// Deferred (evaluated after apply), pointers to scalars (nil where missing), and structs are not allowed.
type Schema struct {
	Doc     string
	Options any               // pointer to a zero struct, or nil
	Nested  map[string]Schema // nested blocks that may appear at most once, by type; only Doc and Options are used
	Tokens  []Attr            // runtime tokens others may use: "dir" of a build
	Results []Attr            // results that output, check and report may read
	// Own are runtime tokens of the stage's own run, written without an address: "out.dir", "self_port".
	Own []Attr
	// Implies are block types of which every block of this one brings one with the same labels and axes, unless its
	// argument of that name is false: a capture implies an extract. They can be referred to like written ones.
	Implies     []string
	Stage       bool // accepts for_each, matrix, depends_on, description, labels, sensitive
	Measurement bool // also accepts attempts, exclusive, reuse, distinct, max_contention, profile_of
}

// Attr is a documented attribute. Name may have dots ("wall.median").
type Attr struct {
	Name string
	Type cty.Type
	Doc  string
}

// Bytes is a size; written as a string with a unit: "512 MiB", "4GB".
type Bytes int64

// Ref is a reference to one instance of another block. Instance is nil where the argument was not given.
type Ref struct {
	Instance *Instance
	Range    hcl.Range
}

// Refs is a reference to every instance of one or several blocks (or to the chosen ones).
type Refs struct {
	Instances []*Instance
	Range     hcl.Range
}

// Meta is what every stage may say of itself.
type Meta struct {
	DependsOn   []*Instance
	Description string
	Labels      map[string]string
	Sensitive   string        // "", "public", "internal", "sensitive"
	Attempts    int           // 1 where nothing is said
	Exclusive   *bool         // nil: the stage kind decides
	Reuse       string        // "auto", "never" or "age"
	ReuseAge    time.Duration // of "age"
	Distinct    string
	ProfileOf   *Instance
	// MaxContention is the share of the machine's CPU time, from 0 to 1, that processes outside may use meanwhile; 0 for any.
	MaxContention float64
}

// Block is one block of the configuration.
type Block struct {
	Type   string
	Labels []string
	Range  hcl.Range // of the block's header
	Schema *Schema
}

// Address is the block's address: its type and labels joined by dots.
func (b *Block) Address() string {
	s := b.Type
	for _, l := range b.Labels {
		s += "." + l
	}
	return s
}

// Kind is the type, and the first label where there are two: "capture.gobench", "workload".
func (b *Block) Kind() string {
	if len(b.Labels) > 1 {
		return b.Type + "." + b.Labels[0]
	}
	return b.Type
}

// Name is the last label.
func (b *Block) Name() string { return b.Labels[len(b.Labels)-1] }

// Instance is one point of a block's axes with its arguments evaluated.
type Instance struct {
	Block *Block
	Axes  address.Axes
	// Options points to a struct of the type of Block.Schema.Options with defaults filled in. Instances whose
	// arguments do not depend on their axes share one; nobody may change it.
	Options any
	Nested  map[string]any // nested blocks that are present, as Options
	Meta    Meta
	// ImpliedBy is the instance that brought this one without a block of its own (Schema.Implies); Options is nil then.
	ImpliedBy *Instance
	// Deps are all instances this one refers to, by argument, token, depends_on or profile_of, each once.
	Deps []*Instance
}

// Address is the instance's address.
func (i *Instance) Address() address.Address {
	return address.Address{Block: i.Block.Address(), Axes: i.Axes}
}
