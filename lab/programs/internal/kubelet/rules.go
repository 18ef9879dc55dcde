package kubelet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Rules is the file. In each list the first rule that matches answers.
type Rules struct {
	Logs []LogRule  `json:"logs"`
	Exec []ExecRule `json:"exec"`
}

// Place says which containers a rule is about, by globs. What is left out matches all.
type Place struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
}

// LogRule is the log of some containers.
type LogRule struct {
	Place
	Lines []string `json:"lines"`
}

// ExecRule is the answer to commands that begin with these words.
type ExecRule struct {
	Place
	Command  []string `json:"command"`
	Stdout   string   `json:"stdout"`
	Stderr   string   `json:"stderr"`
	ExitCode int      `json:"exitCode"`
}

const noProcess = "simulated by the lab: no process runs in this container"

// noRule is the exit code of shells for a command that cannot be run.
const noRule = 126

// ParseRules refuses what it does not know: a misspelt rule would silently never match.
func ParseRules(data []byte) (*Rules, error) {
	rules := &Rules{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(rules); err != nil {
		return nil, fmt.Errorf(`%w; for example {"logs": [{"pod": "web-*", "lines": ["ready"]}], "exec": [{"command": ["cat"], "stdout": "x"}]}`, err)
	}
	for i, rule := range rules.Logs {
		if err := rule.check(); err != nil {
			return nil, fmt.Errorf("logs[%d]: %w", i, err)
		}
	}
	for i, rule := range rules.Exec {
		if err := rule.check(); err != nil {
			return nil, fmt.Errorf("exec[%d]: %w", i, err)
		}
		if rule.ExitCode < 0 || rule.ExitCode > 255 {
			return nil, fmt.Errorf("exec[%d]: exitCode %d; write 0 to 255", i, rule.ExitCode)
		}
	}
	return rules, nil
}

func (p Place) check() error {
	for _, glob := range []string{p.Namespace, p.Pod, p.Container} {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("%q is no glob: %w", glob, err)
		}
	}
	return nil
}

func (p Place) matches(at Place) bool {
	return globMatches(p.Namespace, at.Namespace) && globMatches(p.Pod, at.Pod) && globMatches(p.Container, at.Container)
}

func globMatches(glob, name string) bool {
	if glob == "" {
		return true
	}
	matched, _ := path.Match(glob, name)
	return matched
}

// lines is the log of a container.
func (r *Rules) lines(at Place) []string {
	for _, rule := range r.Logs {
		if rule.matches(at) {
			return rule.Lines
		}
	}
	return []string{noProcess}
}

// answer is what a command does.
func (r *Rules) answer(at Place, command []string) ExecRule {
	for _, rule := range r.Exec {
		if rule.matches(at) && len(command) >= len(rule.Command) && slices.Equal(rule.Command, command[:len(rule.Command)]) {
			return rule
		}
	}
	return ExecRule{
		Stderr:   "simulated by the lab: no rule answers " + strings.Join(command, " ") + "\n",
		ExitCode: noRule,
	}
}
