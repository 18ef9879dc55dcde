package proxy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Match says which requests a rule is about. What is left out matches everything.
type Match struct {
	Classes   []Class  `json:"classes,omitempty"`
	Apply     *bool    `json:"apply,omitempty"`
	Users     []string `json:"users,omitempty"`     // globs
	Path      string   `json:"path,omitempty"`      // a prefix, or a glob if it has * or ?
	Resources []string `json:"resources,omitempty"` // pods, deployments.apps, pods/log, pods/*, *

	users     []*regexp.Regexp
	path      *regexp.Regexp
	resources []resourcePattern
}

type resourcePattern struct{ resource, group, subresource string }

// compile checks the values, and prepares what is compared on every request.
func (m *Match) compile() error {
	for _, class := range m.Classes {
		if !slices.Contains(Classes, class) {
			return fmt.Errorf("match.classes: %q is not a class; write some of %s", class, joined(Classes))
		}
	}
	for _, user := range m.Users {
		m.users = append(m.users, compileGlob(user))
	}
	if m.Path != "" && !strings.HasPrefix(m.Path, "/") && !strings.HasPrefix(m.Path, "*") {
		return fmt.Errorf("match.path: %q never matches; write a path that begins with / such as \"/api/v1/pods\" or \"/apis/**/status\"", m.Path)
	}
	if strings.ContainsAny(m.Path, "*?") {
		m.path = compileGlob(m.Path)
	}
	for _, text := range m.Resources {
		pattern := resourcePattern{}
		text, pattern.subresource, _ = strings.Cut(text, "/")
		pattern.resource, pattern.group, _ = strings.Cut(text, ".")
		if pattern.resource == "" {
			return fmt.Errorf("match.resources: an entry names no resource; write for example \"pods\", \"deployments.apps\" or \"pods/log\"")
		}
		m.resources = append(m.resources, pattern)
	}
	return nil
}

func (m *Match) matches(x *exchange) bool {
	q := x.request
	return (len(m.Classes) == 0 || slices.Contains(m.Classes, q.Class)) &&
		(m.Apply == nil || *m.Apply == q.Apply) &&
		m.matchesPath(x.in.URL.Path) &&
		(len(m.users) == 0 || slices.ContainsFunc(m.users, func(user *regexp.Regexp) bool { return user.MatchString(x.user) })) &&
		(len(m.resources) == 0 || slices.ContainsFunc(m.resources, q.is))
}

func (m *Match) matchesPath(path string) bool {
	if m.path != nil {
		return m.path.MatchString(path)
	}
	return strings.HasPrefix(path, m.Path)
}

// is follows RBAC: "pods" is not "pods/log"; no group means any group.
func (q Request) is(p resourcePattern) bool {
	return q.Resource != "" &&
		(p.resource == "*" || p.resource == q.Resource) &&
		(p.group == "" || p.group == q.Group) &&
		(p.subresource == q.Subresource || p.subresource == "*" && q.Subresource != "")
}

// compileGlob: * stands for anything within a path segment, ** for anything, ? for one character.
func compileGlob(glob string) *regexp.Regexp {
	expression := regexp.QuoteMeta(glob)
	expression = strings.ReplaceAll(expression, `\*\*`, `.*`)
	expression = strings.ReplaceAll(expression, `\*`, `[^/]*`)
	expression = strings.ReplaceAll(expression, `\?`, `[^/]`)
	return regexp.MustCompile(`^` + expression + `$`)
}

func joined[T ~string](values []T) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = string(value)
	}
	return strings.Join(texts, ", ")
}
