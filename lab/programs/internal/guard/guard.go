// Package guard decides which command lines of kustomize, helm and git a confined repo server may start.
//
// Argo CD puts options of the ConfigMap argocd-cm, which a repository brings, on the command line of kustomize. Kustomize in turn
// puts names of a kustomization on those of helm and git. What would let them execute a program of the repository's choice is
// refused here, with a message that tells people why; that it cannot happen in any other way is up to the kernel (confined.py).
package guard

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The same list is read by firstlight before a rehearsal (repo/argocd/kustomize_options.json).
//
//go:embed allowed.json
var data []byte

type rules struct {
	// Commands are the subcommands that may be started.
	Commands []string
	// Options are the only options of a subcommand, each with its values: none for a switch, * for any.
	Options map[string]map[string][]string
	// Refused are options that no subcommand may have.
	Refused []string
}

// Check returns the arguments with which a program may be started, or says why it may not; without arguments there is nothing to do.
func Check(program string, arguments []string) ([]string, error) {
	switch program {
	case "git":
		return checkGit(arguments)
	case "git-verify-wrapper.sh":
		return nil, nil // it is a script; what it says of a commit without a signature is nothing
	}
	var all map[string]rules
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	known, ok := all[program]
	if !ok {
		return nil, fmt.Errorf("%s is not a program that may be started", program)
	}
	if len(arguments) == 0 || !slices.Contains(known.Commands, arguments[0]) {
		return nil, refused(program, strings.Join(arguments[:min(1, len(arguments))], ""))
	}
	if options, ok := known.Options[arguments[0]]; ok {
		return arguments, checkOptions(program, arguments[1:], options)
	}
	for _, argument := range arguments {
		name, _, _ := strings.Cut(argument, "=")
		if slices.Contains(known.Refused, name) {
			return nil, refused(program, name)
		}
	}
	return arguments, nil
}

func checkOptions(program string, arguments []string, options map[string][]string) error {
	for at := 0; at < len(arguments); at++ {
		argument := arguments[at]
		if argument == "--" {
			return nil
		}
		if !strings.HasPrefix(argument, "-") {
			continue
		}
		name, value, hasValue := strings.Cut(argument, "=")
		values, ok := options[name]
		if !ok {
			return refused(program, name)
		}
		if len(values) == 0 {
			continue
		}
		if !hasValue {
			if at++; at == len(arguments) {
				return refused(program, name)
			}
			value = arguments[at]
		}
		if values[0] != "*" && !slices.Contains(values, value) {
			return refused(program, name+"="+value)
		}
	}
	return nil
}

// checkGit is for kustomize, which fetches remote bases with exactly this: the last two are a kustomization's, and no options.
func checkGit(arguments []string) ([]string, error) {
	if len(arguments) == 0 || strings.HasPrefix(arguments[0], "-") {
		return nil, refused("git", strings.Join(arguments[:min(1, len(arguments))], ""))
	}
	switch arguments[0] {
	case "init", "checkout", "rev-parse":
		return arguments, nil
	case "submodule":
		return nil, nil // it is a script, and would fetch what a remote base names
	case "fetch":
		if len(arguments) == 4 && arguments[1] == "--depth=1" {
			return []string{"fetch", "--depth=1", "--end-of-options", arguments[2], arguments[3]}, nil
		}
	}
	return nil, refused("git", arguments[0])
}

func refused(program, what string) error {
	return fmt.Errorf("firstlight: %s %s is not allowed in the lab, where a repository executes nothing unless its owner allows it: "+
		"firstlight rehearse --allow-commands", program, what)
}
