package broker

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ldd is what the loader itself says that a program loads: name to path.
func ldd(t *testing.T, path string, env ...string) map[string]string {
	t.Helper()
	cmd := exec.Command("ldd", path)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("ldd %s: %v", path, err)
	}
	got := map[string]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 3 && f[1] == "=>" && filepath.IsAbs(f[2]):
			got[f[0]], _ = filepath.EvalSymlinks(f[2])
		case len(f) >= 1 && filepath.IsAbs(f[0]):
			got[filepath.Base(f[0])], _ = filepath.EvalSymlinks(f[0])
		}
	}
	return got
}

func TestTheLibrariesOfAProgramAreThoseThatTheLoaderLoads(t *testing.T) {
	for _, name := range []string{"sh", "git", "python3", "node", "gcc", "wrk"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			x, err := Resolve(Env{Path: os.Getenv("PATH"), Dir: t.TempDir()}, path)
			if err != nil {
				t.Fatal(err)
			}
			last := x.Chain[len(x.Chain)-1]
			want := ldd(t, last.Real)
			got := map[string]string{}
			for _, l := range x.Libraries {
				got[l.Asked] = l.Real
			}
			for lib, at := range want {
				if got[lib] != at {
					t.Errorf("%s loads %s from %s, found %q", last.Real, lib, at, got[lib])
				}
			}
			for lib, at := range got {
				if want[lib] == "" {
					t.Errorf("%s does not load %s (%s)", last.Real, lib, at)
				}
			}
		})
	}
}

func TestALibraryThatChangesIsAnotherProgram(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := func(args ...string) {
		cmd := exec.Command(cc, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("cc %v: %v\n%s", args, err, out)
		}
	}
	os.Mkdir(filepath.Join(dir, "lib"), 0o755)
	os.Mkdir(filepath.Join(dir, "other"), 0o755)
	write("deep.c", "int deep(void) { return 1; }")
	write("f.c", "int deep(void); int f(void) { return deep(); }")
	write("main.c", "int f(void); int main(void) { return f(); }")
	build("-shared", "-fPIC", "-o", "lib/libdeep.so", "deep.c")
	build("-shared", "-fPIC", "-o", "lib/libf.so", "f.c", "-Llib", "-ldeep", "-Wl,-rpath,$ORIGIN")
	build("-o", "main", "main.c", "-Llib", "-lf", "-Wl,-rpath,$ORIGIN/lib", "-Wl,-rpath-link,lib")
	env := Env{Path: os.Getenv("PATH"), Dir: dir}
	resolve := func(env Env) *Executable {
		t.Helper()
		x, err := Resolve(env, "./main")
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	library := func(x *Executable, name string) *Link {
		i := slices.IndexFunc(x.Libraries, func(l Link) bool { return l.Asked == name })
		if i < 0 {
			t.Fatalf("%s is not among %v, %v", name, x.Libraries, x.Limitations)
		}
		return &x.Libraries[i]
	}
	x := resolve(env)
	deep := library(x, "libdeep.so")
	library(x, "libf.so")
	library(x, "libc.so.6")
	if err := x.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	write("deep.c", "int deep(void) { return 2; }")
	build("-shared", "-fPIC", "-o", "lib/libdeep.so", "deep.c")
	if err := x.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "libdeep.so") {
		t.Errorf("a library that was built again gives %v", err)
	}
	if now := library(resolve(env), "libdeep.so"); now.Digest == deep.Digest {
		t.Error("its digest is that of the old one")
	}
	// LD_LIBRARY_PATH goes before DT_RUNPATH, as the loader has it.
	build("-shared", "-fPIC", "-DX", "-o", "other/libf.so", "f.c", "-Llib", "-ldeep", "-Wl,-rpath,../lib")
	env.Libraries = []string{filepath.Join(dir, "other")}
	want := ldd(t, filepath.Join(dir, "main"), "LD_LIBRARY_PATH="+env.Libraries[0])["libf.so"]
	if got := library(resolve(env), "libf.so").Real; got != want {
		t.Errorf("with LD_LIBRARY_PATH it is %s, and the loader takes %s", got, want)
	}
	env.Libraries = nil
	os.Remove(filepath.Join(dir, "lib/libdeep.so"))
	if x := resolve(env); !slices.ContainsFunc(x.Limitations, func(s string) bool { return strings.Contains(s, "libdeep.so") }) {
		t.Errorf("a library that is missing is not said: %v", x.Limitations)
	}
}

func FuzzParseLibraryCache(f *testing.F) {
	if b, err := os.ReadFile(libraryCache); err == nil {
		f.Add(b[:min(len(b), 4096)])
		if len(parseLibraryCache(b)) == 0 {
			f.Error("this machine's cache has no library")
		}
	}
	f.Add([]byte("glibc-ld.so.cache1.1"))
	f.Fuzz(func(t *testing.T, b []byte) { parseLibraryCache(b) })
}

// The texts of the dynamic section are those that the standard library reads, of programs as they are installed here.
func TestTheTextsOfADynamicSectionAreReadOneByOne(t *testing.T) {
	read := 0
	for _, dir := range []string{"/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"} {
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		for _, name := range names {
			e, err := elf.Open(name)
			if err != nil {
				continue
			}
			for _, tag := range []elf.DynTag{elf.DT_NEEDED, elf.DT_RPATH, elf.DT_RUNPATH} {
				want, errWant := e.DynString(tag)
				got, err := dynamicTexts(e, tag)
				if (err != nil) != (errWant != nil) || !slices.Equal(got, want) {
					t.Errorf("%s: %s is %q, %v; want %q, %v", name, tag, got, err, want, errWant)
				}
			}
			e.Close()
			if read++; read == 400 {
				return
			}
		}
	}
	if read == 0 {
		t.Skip("no ELF files are installed where they usually are")
	}
}
