package broker

import (
	"slices"
	"strings"
	"testing"
)

func TestAnEnvironmentHoldsTheBaseWhatIsInheritedAndWhatIsDeclared(t *testing.T) {
	base := Base{Path: "/bin", Home: "/h", Tmp: "/t"}
	env, refused, err := Environment(base, map[string]string{"PATH": "/opt/bin", "A": "declared", "LD_PRELOAD": "/x.so", "API_KEY": "k"},
		map[string]string{"A": "host", "B": "host", "HOME": "/root", "LD_PRELOAD": "/evil.so", "FLAMEOX_ATTEMPT": "x"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"A=declared", "API_KEY=k", "B=host", "HOME=/root", "LANG=C.UTF-8", "LD_PRELOAD=/x.so", "PATH=/opt/bin", "TMPDIR=/t"}
	if !slices.Equal(env, want) || len(refused) != 0 {
		t.Errorf("environment %v, refused %v; want %v", env, refused, want)
	}
}

func TestDangerousAndSecretNamesAreNotInherited(t *testing.T) {
	bad := []string{"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "DYLD_INSERT_LIBRARIES", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS", "BASH_ENV", "GLIBC_TUNABLES",
		"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "GITHUB_TOKEN", "GITHUB_PAT", "OPENAI_API_KEY", "openai_api_key", "DB_PASSWORD", "PGPASSWORD",
		"SSH_AUTH_SOCK", "NPM_CONFIG__AUTH", "GOOGLE_APPLICATION_CREDENTIALS", "MY_SECRET", "CLIENTSECRET", "SIGNING_KEY"}
	good := []string{"HOSTNAME", "TZ", "LC_ALL", "CUDA_VISIBLE_DEVICES", "XDG_SESSION_ID", "PWD", "KEYBOARD", "MONKEY", "PATTERN", "AUTHOR", "OMP_NUM_THREADS", "PYTHONHASHSEED", "GOMAXPROCS", "TOKENIZERS_PARALLELISM"}
	host := map[string]string{}
	for _, n := range append(slices.Clone(bad), good...) {
		host[n] = "value"
	}
	host["DATABASE_URL"] = "postgres://user:hunter2@db/x"
	host["HOME_PAGE"] = "https://example.org/@x:y"
	host["F%%"] = "() { echo; }"
	env, refused, err := Environment(Base{Path: "/bin"}, nil, host)
	if err != nil {
		t.Fatal(err)
	}
	has := func(n string) bool {
		return slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, n+"=") })
	}
	for _, n := range append(bad, "DATABASE_URL", "F%%") {
		i := slices.IndexFunc(refused, func(r RefusedName) bool { return r.Name == n })
		if has(n) || i < 0 || refused[i].Reason == "" {
			t.Errorf("%s: inherited %v, refused %v", n, has(n), i >= 0)
		} else if strings.Contains(refused[i].Reason, "hunter2") {
			t.Errorf("%s: the reason tells the secret", n)
		}
	}
	for _, n := range append(good, "HOME_PAGE") {
		if !has(n) {
			t.Errorf("%s was not inherited: %v", n, refused)
		}
	}
}

func TestImpossibleNamesAndValuesAreErrors(t *testing.T) {
	for _, declared := range []map[string]string{{"A=B": "x"}, {"": "x"}, {"A\x00": "x"}, {"A": "x\x00"}, {MarkEnv: "x"}} {
		if env, _, err := Environment(Base{Path: "/bin"}, declared, nil); err == nil {
			t.Errorf("%q gave %q", declared, env)
		}
	}
}
