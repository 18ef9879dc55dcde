package kubelet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const sample = `{
  "logs": [
    {"namespace": "flux-*", "container": "manager", "lines": ["first", "second", "third"]},
    {"pod": "quiet", "lines": []}
  ],
  "exec": [
    {"pod": "web-?", "command": ["cat", "/etc/hostname"], "stdout": "web\n"},
    {"pod": "web-?", "command": ["cat"], "stderr": "no such file\n", "exitCode": 1},
    {"namespace": "a", "stdout": "anything\n"}
  ]
}`

func TestFirstMatchAnswers(t *testing.T) {
	rules, err := ParseRules([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		at      Place
		command string
		stdout  string
		code    int
	}{
		{Place{"b", "web-1", "c"}, "cat /etc/hostname", "web\n", 0},
		{Place{"b", "web-1", "c"}, "cat /etc/passwd", "", 1},
		{Place{"b", "web-1", "c"}, "cat", "", 1},
		{Place{"b", "web-10", "c"}, "cat", "", 126},
		{Place{"a", "web-10", "c"}, "cat", "anything\n", 0},
		{Place{"a", "web-1", "c"}, "ls", "anything\n", 0},
	} {
		got := rules.answer(test.at, strings.Fields(test.command))
		if got.Stdout != test.stdout || got.ExitCode != test.code {
			t.Errorf("%+v %s: %+v", test.at, test.command, got)
		}
	}
	if got := rules.answer(Place{"b", "x", "c"}, []string{"rm", "-rf"}).Stderr; got != "simulated by the lab: no rule answers rm -rf\n" {
		t.Errorf("%q", got)
	}
	if got := rules.lines(Place{"flux-system", "p", "manager"}); len(got) != 3 {
		t.Errorf("%q", got)
	}
	if got := rules.lines(Place{"b", "quiet", "c"}); len(got) != 0 {
		t.Errorf("%q", got)
	}
	if got := rules.lines(Place{"b", "p", "c"}); len(got) != 1 || got[0] != noProcess {
		t.Errorf("%q", got)
	}
}

func TestBadRulesAreRefused(t *testing.T) {
	for text, hint := range map[string]string{
		`[]`:                                   "for example",
		`{"log": []}`:                          `unknown field "log"`,
		`{"logs": [{"line": ["x"]}]}`:          `unknown field "line"`,
		`{"logs": [{"pod": "[", "lines":[]}]}`: "logs[0]",
		`{"exec": [{"exitCode": 300}]}`:        "0 to 255",
	} {
		if _, err := ParseRules([]byte(text)); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestChangedFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.json")
	at := Place{"a", "p", "c"}
	step := time.Now()
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		step = step.Add(time.Second) // a clock that surely moves
		os.Chtimes(path, step, step)
	}
	if _, err := openRules(path); err == nil {
		t.Error("a missing file was taken")
	}
	put(`{"logs": [{"lines": ["one"]}]}`)
	file, err := openRules(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{`{"logs": [{"lines": ["two"]}]}`, "two"},
		{`{"logs": [{"lines": ["broken"`, "two"},
		{`{"logs": [{"lines": ["three"]}]}`, "three"},
	} {
		put(test.text)
		if got := file.current().lines(at); got[0] != test.want {
			t.Errorf("%s: %q", test.text, got)
		}
	}
	os.Remove(path)
	if got := file.current().lines(at); got[0] != "three" {
		t.Errorf("removed: %q", got)
	}
}
