package manifests

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Names of Talos's controllers: they own the resources and sign the lines of the log.
const (
	bootstrapController   = "k8s.ControlPlaneBootstrapManifestsController"
	extraConfigController = "k8s.ControlPlaneExtraManifestsController"
	manifestController    = "k8s.ManifestController"
	extraController       = "k8s.ExtraManifestController"
	applyController       = "k8s.ManifestApplyController"
)

// logger writes lines as Talos's controllers do.
type logger struct {
	controller string
	write      func(format string, args ...any)
}

func (l logger) info(format string, args ...any) { l.line(fmt.Sprintf(format, args...)) }

// failed says that the controller will be started again.
func (l logger) failed(err error) { l.line("controller failed", "error", err.Error()) }

func (l logger) line(message string, fields ...string) {
	if l.write == nil {
		return
	}

	var text strings.Builder

	fmt.Fprintf(&text, `%s {"component": "controller-runtime", "controller": %s`, message, quote(l.controller))

	for i := 0; i+1 < len(fields); i += 2 {
		fmt.Fprintf(&text, ", %s: %s", quote(fields[i]), quote(fields[i+1]))
	}

	l.write("%s}", text.String())
}

func quote(text string) string {
	var out strings.Builder

	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(text); err != nil {
		return `""`
	}

	return strings.TrimSuffix(out.String(), "\n")
}

// Write takes the warnings of the API server.
func (l logger) Write(text []byte) (int, error) {
	l.line(strings.TrimSpace(string(text)))

	return len(text), nil
}
