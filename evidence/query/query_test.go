package query

import (
	"math/big"
	"testing"
)

func TestOneStatementIsToldFromSeveral(t *testing.T) {
	for _, c := range []struct {
		sql, want string
		ok        bool
	}{
		{"SELECT 1", "SELECT 1", true},
		{"SELECT 1;", "SELECT 1", true},
		{"SELECT 1 ; -- done\n /* ; */ ", "SELECT 1 ", true},
		{"SELECT ';' ;;", "SELECT ';' ", true},
		{"SELECT 'it''s; fine'", "SELECT 'it''s; fine'", true},
		{`SELECT ";" FROM a`, `SELECT ";" FROM a`, true},
		{`SELECT E'\'; x'`, `SELECT E'\'; x'`, true},
		{`SELECT name'; x'`, `SELECT name'; x'`, true},
		{"SELECT $$a;b$$", "SELECT $$a;b$$", true},
		{"SELECT $t$a;$$;b$t$", "SELECT $t$a;$$;b$t$", true},
		{"SELECT 1 /* ; /* ; */ ; */", "SELECT 1 /* ; /* ; */ ; */", true},
		{"SELECT 1 -- ; DROP\n", "SELECT 1 -- ; DROP\n", true},
		{"SELECT 1; SELECT 2", "", false},
		{"SELECT ''; SELECT 2", "", false},
		{`SELECT '\'; SELECT 2`, "", false},
		{"SELECT $1; SELECT 2", "", false},
		{"SELECT 1;\n--\nDROP VIEW x", "", false},
		{"/* SELECT */", "", false},
		{"", "", false},
	} {
		got, err := statement(c.sql)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("%q: %q, %v", c.sql, got, err)
		}
	}
}

func FuzzStatement(f *testing.F) {
	for _, s := range []string{"SELECT 1; -- x", "'a''b", "E'\\", "$t$ $t", "/* /* */", "\"", "é$é$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		one, err := statement(sql)
		if err != nil {
			return
		}
		if again, err := statement(one); err != nil || again != one {
			t.Fatalf("%q is one statement, %q is not: %v", sql, one, err)
		}
	})
}

func TestDecimalsAreWrittenInFull(t *testing.T) {
	for _, c := range []struct {
		n     int64
		scale int
		want  string
	}{{15, 1, "1.5"}, {-5, 2, "-0.05"}, {0, 3, "0.000"}, {1200, 0, "1200"}, {-1234567, 6, "-1.234567"}} {
		if got := decimalText(big.NewInt(c.n), c.scale); got != c.want {
			t.Errorf("%d at scale %d is %s, want %s", c.n, c.scale, got, c.want)
		}
	}
}

func TestFormatsAreParsed(t *testing.T) {
	for _, f := range Formats() {
		if got, err := ParseFormat(string(f)); err != nil || got != f {
			t.Errorf("%s: %s %v", f, got, err)
		}
	}
	if _, err := ParseFormat("xml"); err == nil {
		t.Error("xml is a format")
	}
}
