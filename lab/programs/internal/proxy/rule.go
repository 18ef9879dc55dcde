package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Rule says which fault happens to which requests. The parameters of the fault stand
// beside these fields: {"fault": "latency", "milliseconds": 20, "match": {"classes": ["list"]}}.
type Rule struct {
	ID    string  `json:"id,omitempty"`
	Fault string  `json:"fault"`
	Match Match   `json:"match"`
	Skip  int64   `json:"skip,omitempty"`  // so many matching requests pass first
	Times int64   `json:"times,omitempty"` // so many of the following are meant; 0: all
	Rate  float64 `json:"rate"`            // and each of those is hit with this chance

	fault fault
	key   uint64 // of what the rule says, its id left out: the same rule draws the same numbers
}

var ruleFields = jsonFields(reflect.TypeFor[Rule]())

var idForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// ParseRule refuses everything that it does not know, and says what to write instead.
func ParseRule(data []byte) (*Rule, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return nil, fmt.Errorf("a rule is a JSON object, for example %s: %w", kinds[0].example, err)
	}
	parameters := maps.Clone(given)
	for _, field := range ruleFields {
		delete(parameters, field)
	}
	for field := range parameters {
		delete(given, field)
	}

	rule := &Rule{Rate: 1}
	if err := decode(given, rule); err != nil {
		return nil, fmt.Errorf("rule: %w; it takes %s", err, strings.Join(ruleFields, ", "))
	}
	kind := kindOf(rule.Fault)
	if kind == nil {
		return nil, fmt.Errorf("fault: %q is not known; write one of %s", rule.Fault, strings.Join(kindNames(), ", "))
	}
	rule.fault = kind.make()
	if err := decode(parameters, rule.fault); err != nil {
		return nil, fmt.Errorf("fault %s: %w; for example %s", kind.name, err, kind.example)
	}
	if err := rule.fault.check(); err != nil {
		return nil, fmt.Errorf("fault %s: %w; for example %s", kind.name, err, kind.example)
	}
	if err := rule.check(kind); err != nil {
		return nil, err
	}
	rule.key = rule.hash()
	return rule, nil
}

func decode(fields map[string]json.RawMessage, into any) error {
	data, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (r *Rule) check(kind *kind) error {
	switch {
	case r.ID != "" && !idForm.MatchString(r.ID):
		return fmt.Errorf("id: %q; write up to 63 letters, digits, dots, dashes and underscores", r.ID)
	case r.Skip < 0:
		return fmt.Errorf("skip: %d; write 0 or how many matching requests pass first", r.Skip)
	case r.Times < 0:
		return fmt.Errorf("times: %d; write 0 (until cleared) or how many matching requests are meant", r.Times)
	case r.Rate < 0 || r.Rate > 1:
		return fmt.Errorf("rate: %v; write a number from 0 to 1, such as 0.1", r.Rate)
	}
	if kind.only != "" {
		if len(r.Match.Classes) == 0 {
			r.Match.Classes = []Class{kind.only}
		}
		if !slices.Equal(r.Match.Classes, []Class{kind.only}) {
			return fmt.Errorf("match.classes: fault %s happens only to class %s; leave classes out or write [%q]", kind.name, kind.only, kind.only)
		}
	}
	return r.Match.compile()
}

// MarshalJSON shows the rule as it is written: parameters beside the other fields.
func (r *Rule) MarshalJSON() ([]byte, error) {
	type plain Rule
	fields := map[string]json.RawMessage{}
	for _, part := range []any{(*plain)(r), r.fault} {
		data, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &fields); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

func (r *Rule) hash() uint64 {
	anonymous := *r
	anonymous.ID = ""
	data, _ := json.Marshal(&anonymous)
	sum := fnv.New64a()
	sum.Write(data)
	return sum.Sum64()
}

func jsonFields(of reflect.Type) []string {
	var names []string
	for i := range of.NumField() {
		if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); name != "" {
			names = append(names, name)
		}
	}
	return names
}
