package guard

import (
	"slices"
	"strings"
	"testing"
)

func TestNothingToDo(t *testing.T) {
	for _, words := range [][]string{{"git", "submodule", "update"}, {"git-verify-wrapper.sh", "abc"}} {
		if found, err := Check(words[0], words[1:]); found != nil || err != nil {
			t.Errorf("%v: %v %v", words, found, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		line, want string
	}{
		{"kustomize build /x", "kustomize build /x"},
		{"kustomize build /x --enable-helm --load-restrictor LoadRestrictionsNone", "kustomize build /x --enable-helm --load-restrictor LoadRestrictionsNone"},
		{"kustomize build /x --load-restrictor=LoadRestrictionsNone", "kustomize build /x --load-restrictor=LoadRestrictionsNone"},
		{"kustomize build /x --helm-kube-version 1.36 --helm-api-versions a/v1", "kustomize build /x --helm-kube-version 1.36 --helm-api-versions a/v1"},
		{"kustomize edit set image a=b", "kustomize edit set image a=b"},
		{"kustomize version --short", "kustomize version --short"},
		{"helm template . --name-template x --values secrets://y", "helm template . --name-template x --values secrets://y"},
		{"git init", "git init"},
		{"git fetch --depth=1 https://a/b --upload-pack=./x", "git fetch --depth=1 --end-of-options https://a/b --upload-pack=./x"},
		{"kustomize build /x --enable-alpha-plugins --enable-exec", ""},
		{"kustomize build /x --enable-exec=true", ""},
		{"kustomize build /x --helm-command=./x", ""},
		{"kustomize build /x --enable-helm --helm-command ./x", ""},
		{"kustomize build /x --load-restrictor --enable-exec", ""},
		{"kustomize build /x --load-restrictor", ""},
		{"kustomize build /x -o /y", ""},
		{"kustomize build /x --network", ""},
		{"kustomize --enable-exec build /x", ""},
		{"kustomize fn run .", ""},
		{"kustomize", ""},
		{"helm plugin install ./x", ""},
		{"helm secrets template", ""},
		{"helm template --post-renderer=./x chart", ""},
		{"helm template --post-renderer ./x chart", ""},
		{"git -c alias.x=!sh x", ""},
		{"git fetch --upload-pack=./x", ""},
		{"git push", ""},
		{"sh -c true", ""},
	} {
		words := strings.Fields(test.line)
		found, err := Check(words[0], words[1:])
		if (err == nil) != (test.want != "") {
			t.Errorf("%s: %v", test.line, err)
		} else if err == nil && !slices.Equal(append([]string{words[0]}, found...), strings.Fields(test.want)) {
			t.Errorf("%s became %v", test.line, found)
		}
	}
}
