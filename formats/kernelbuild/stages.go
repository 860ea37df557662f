package kernelbuild

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// File is one kept file.
type File struct {
	Name      string // path below the output folder, with slashes
	Role      string
	MediaType string
	SHA256    string
	Bytes     int64
}

// Kind is one kind of file that a compiler leaves.
type Kind struct {
	Name      string // ttir; what follows the last dot of the file's name where Suffix is empty
	Suffix    string // of the name with its dot, where that is not the dot and Name
	MediaType string
	From      string // name of the kind that it is made from; "" where that is not known
}

func (k Kind) suffix() string { return cmp.Or(k.Suffix, "."+k.Name) }

// Glob matches the files of the kind in a folder of the output folder and below, however their suffix is written.
func (k Kind) Glob(folder string) string {
	var b strings.Builder
	for _, r := range k.suffix() {
		if low, up := strings.ToLower(string(r)), strings.ToUpper(string(r)); low != up {
			b.WriteString("[" + low + up + "]")
		} else {
			b.WriteRune(r)
		}
	}
	return folder + "*" + b.String()
}

// Stages orders files into a pipeline. Files of no kind are Stages too where their role is RoleReproducer.
func Stages(files []File, kinds []Kind) []Stage {
	var out []Stage
	rank := map[string]int{}
	for i, k := range kinds {
		rank[k.Name] = i
	}
	for _, f := range files {
		s := Stage{Name: f.Name, Group: path.Dir(f.Name), Kernel: path.Base(f.Name), Kind: "reproducer", Role: f.Role, MediaType: f.MediaType, SHA256: f.SHA256, Bytes: f.Bytes}
		if f.Role != RoleReproducer {
			i := slices.IndexFunc(kinds, func(k Kind) bool { return strings.HasSuffix(strings.ToLower(s.Kernel), k.suffix()) })
			if i < 0 {
				continue
			}
			s.Kind, s.Kernel = kinds[i].Name, s.Kernel[:len(s.Kernel)-len(kinds[i].suffix())]
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Stage) int {
		return cmp.Or(strings.Compare(a.Role, b.Role), strings.Compare(a.Group, b.Group), strings.Compare(a.Kernel, b.Kernel), cmp.Compare(rank[a.Kind], rank[b.Kind]), strings.Compare(a.Name, b.Name))
	})
	for i := range out {
		s := &out[i]
		s.Ordinal = i + 1
		k := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == s.Kind })
		if k < 0 || kinds[k].From == "" {
			continue
		}
		// Two files of one kind, as with suffixes in both cases, leave open which of them it was.
		var from []string
		for _, p := range out[:i] {
			if p.Group == s.Group && p.Kernel == s.Kernel && p.Kind == kinds[k].From {
				from = append(from, p.Name)
			}
		}
		if len(from) == 1 {
			s.Predecessor = &from[0]
		}
	}
	return out
}
