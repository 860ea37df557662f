package configure

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/flameox/flameox/cmd/flameox/internal/cmdline"
	"github.com/flameox/flameox/internal/flags"
	"github.com/flameox/flameox/internal/suggest"
	"github.com/flameox/flameox/lang/jsonschema"
	"github.com/flameox/flameox/lang/reference"
	"github.com/flameox/flameox/schemas"
	"github.com/flameox/flameox/stages"
)

// JSONSchemaID identifies the JSON Schema of the JSON form of a configuration.
const JSONSchemaID = schemas.Base + "configuration.schema.json"

// Language is the language as it is registered in this binary.
func Language() *reference.Document {
	return reference.Of(stages.Language(stages.Kinds(cmdline.Providers())).Types())
}

// Schema is the command schema. tables is the command that describes the tables of the evidence, which `schema tables` is another name of.
func Schema(tables *cli.Command) *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "describe the blocks of the configuration, or one of them", ArgsUsage: "[BLOCK [LABEL]]",
		Description: "Without a block: what blocks there are. With one: its arguments, nested blocks, runtime values and results, as this\n" +
			"flameox knows them. `flameox schema tables` describes the tables of the evidence.\n\n" +
			"-format json-schema prints a JSON Schema (draft 2020-12) of the JSON form of a configuration, for converters between HCL\n" +
			"and JSON and for linting. flameox itself reads the native form, flameox.hcl.\n\n" +
			"Examples:\n" +
			"  flameox schema\n" +
			"  flameox schema capture pprof\n" +
			"  flameox schema tables measurements\n" +
			"  flameox schema -json build\n" +
			"  flameox schema -format json-schema",
		Flags: []cli.Flag{
			cmdline.JSONFlag,
			&cli.StringFlag{Name: "format", Value: "text", Usage: "`FORMAT`: text, json or json-schema"},
		},
		Action: func(c *cli.Context) error {
			format := c.String("format")
			if c.Bool("json") {
				format = "json"
			}
			if !slices.Contains([]string{"text", "json", "json-schema"}, format) {
				return flags.Usage(c, "-format is %q; give text, json or json-schema", format)
			}
			args := c.Args().Slice()
			if len(args) > 0 && args[0] == tables.Name {
				return runTables(c, tables, format, args[1:])
			}
			if len(args) > 2 {
				return flags.Usage(c, "schema takes at most a block and its first label")
			}
			return runSchema(c, format, args)
		},
	}
}

func runTables(c *cli.Context, tables *cli.Command, format string, args []string) error {
	if format == "json-schema" {
		return flags.Usage(c, "the tables have no JSON form; -json describes them")
	}
	set := flag.NewFlagSet(tables.Name, flag.ContinueOnError)
	set.Bool(cmdline.JSONFlag.Name, format == "json", "")
	if err := set.Parse(append([]string{"--"}, args...)); err != nil {
		return err
	}
	sub := cli.NewContext(c.App, set, c)
	sub.Command = tables
	return tables.Action(sub)
}

func runSchema(c *cli.Context, format string, args []string) error {
	doc := Language()
	if format == "json-schema" {
		if len(args) > 0 {
			return flags.Usage(c, "-format json-schema describes a whole configuration and takes no block")
		}
		b, err := jsonschema.Of(doc, JSONSchemaID)
		if err != nil {
			return fmt.Errorf("describe the language as a JSON Schema: %w", err)
		}
		_, err = c.App.Writer.Write(b)
		return err
	}
	blocks, err := chosen(doc, args)
	if err != nil {
		return err
	}
	if format == "json" {
		doc.Blocks = doc.Blocks[:0:0]
		for _, b := range blocks {
			doc.Blocks = append(doc.Blocks, *b)
		}
		return cmdline.JSON(c, doc)
	}
	p := &page{w: c.App.Writer, o: cmdline.View(c)}
	if len(blocks) == 1 {
		p.block(blocks[0])
	} else {
		p.blocks(blocks)
		if len(args) == 0 {
			p.functions(doc.Functions)
		}
		p.say("", "`flameox schema BLOCK LABEL` describes one, such as `flameox schema capture pprof`.")
	}
	return p.err
}

// chosen are the blocks that the arguments name.
func chosen(doc *reference.Document, args []string) ([]*reference.Block, error) {
	if len(args) == 0 {
		var all []*reference.Block
		for i := range doc.Blocks {
			all = append(all, &doc.Blocks[i])
		}
		return all, nil
	}
	typ, kind := args[0], ""
	if len(args) == 2 {
		kind = args[1]
	} else if before, after, dotted := strings.Cut(typ, "."); dotted && len(doc.Find(typ, "")) == 0 { // as addresses have it
		typ, kind = before, after
	}
	if len(doc.Find(typ, "")) == 0 {
		return nil, fmt.Errorf("there is no block %s%s; the blocks are %s", typ, meant(typ, append(doc.Types(), "tables")), strings.Join(doc.Types(), ", "))
	}
	found := doc.Find(typ, kind)
	switch kinds := doc.Kinds(typ); {
	case len(found) > 0:
		return found, nil
	case len(kinds) == 0:
		return nil, fmt.Errorf("%s has no label that chooses what it is: write `flameox schema %s`", typ, typ)
	default:
		return nil, fmt.Errorf("there is no %s %q%s; there are %s", typ, kind, meant(kind, kinds), strings.Join(kinds, ", "))
	}
}

func meant(name string, known []string) string {
	if near := suggest.Nearest(name, known); near != "" && near != name {
		return fmt.Sprintf(" (did you mean %s?)", near)
	}
	return ""
}
