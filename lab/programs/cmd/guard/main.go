// Command guard stands for kustomize, helm and git where a repo server looks for them, under the name of the program.
//
// The program itself is in the directory real beside it, or beside the directory that it is in.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"firstlight.dev/lab/programs/internal/guard"
)

const version = "0.1.0"

func main() {
	self, err := os.Executable()
	if err != nil {
		fail(err)
	}
	name, here := filepath.Base(self), filepath.Dir(self)
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Printf("guard %s %s\n", version, runtime.Version())
		return
	}
	arguments, err := guard.Check(name, os.Args[1:])
	if err != nil {
		fail(err)
	}
	if arguments == nil {
		return
	}
	inner := filepath.Join(here, "inner")
	if filepath.Base(here) == "inner" {
		here, inner = filepath.Dir(here), here
	}
	environment := os.Environ()
	if name == "kustomize" {
		// It starts helm and git: these, and not a wrapper of Argo CD's that is a script.
		environment = append(without(environment, "PATH"), "PATH="+inner)
	}
	program := filepath.Join(here, "real", name)
	fail(syscall.Exec(program, append([]string{name}, arguments...), environment))
}

func without(environment []string, name string) []string {
	var kept []string
	for _, each := range environment {
		if !strings.HasPrefix(each, name+"=") {
			kept = append(kept, each)
		}
	}
	return kept
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
