package etcd

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/siderolabs/talos/pkg/argsbuilder"
)

// cipherSuites is what Talos allows.
const cipherSuites = "ETCD_CIPHER_SUITES=" +
	"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256," +
	"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384," +
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305,TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"

// ours are flags that Talos lets a config set, but that would lead out of the lab: to addresses that are not there, to
// ports that the machines share, or to files of the host. The lab's own values stay.
var ours = []string{
	"advertise-client-urls", "config-file", "discovery", "discovery-srv", "initial-advertise-peer-urls", "initial-cluster",
	"initial-cluster-state", "listen-client-http-urls", "listen-metrics-urls", "log-outputs", "unsafe-no-fsync", "wal-dir",
}

// initialCluster is what a member without data has to be told.
type initialCluster struct {
	state   string // new or existing
	members string // name=url,name=url
}

// arguments of etcd, by Talos's rules: what Talos sets cannot be set by the config.
func arguments(o *Options, initial *initialCluster) ([]string, error) {
	pki := func(name string) []string { return []string{filepath.Join(o.PKIDir, name)} }
	args := argsbuilder.Args{
		"name":                  {o.Name},
		"auto-tls":              {"false"},
		"peer-auto-tls":         {"false"},
		"data-dir":              {o.DataDir},
		"listen-peer-urls":      {o.peerURL()},
		"listen-client-urls":    {o.clientURL()},
		"client-cert-auth":      {"true"},
		"cert-file":             pki(fileServerCrt),
		"key-file":              pki(fileServerKey),
		"trusted-ca-file":       pki(fileCA),
		"peer-client-cert-auth": {"true"},
		"peer-cert-file":        pki(filePeerCrt),
		"peer-key-file":         pki(filePeerKey),
		"peer-trusted-ca-file":  pki(fileCA),
		// Old names in etcd 3.6, but those that Talos 1.13 uses: a config that sets the new ones must meet them.
		// The first is true in Talos. It makes members that start together wait for each other, 7 s for each: too long
		// for a lab that starts all its machines at once, and never loses power.
		"experimental-initial-corrupt-check":          {"false"},
		"experimental-watch-progress-notify-interval": {"5s"},
		"experimental-compact-hash-check-enabled":     {"true"},
	}
	denied := argsbuilder.WithDenyList(args)

	extra := argsbuilder.Args{}
	for _, key := range slices.Sorted(maps.Keys(o.ExtraArgs)) {
		if slices.Contains(ours, key) {
			o.Console(fmt.Sprintf("etcd extra arg %q is not followed in the lab", key))

			continue
		}
		extra[key] = o.ExtraArgs[key]
	}

	args.Set("advertise-client-urls", argsbuilder.Value{o.clientURL()})
	args.Set("initial-advertise-peer-urls", argsbuilder.Value{o.peerURL()})
	args.Set("listen-metrics-urls", argsbuilder.Value{o.metricsURL()})
	// A lab's power does not fail: the page cache outlives every process that is killed.
	args.Set("unsafe-no-fsync", argsbuilder.Value{"true"})
	if initial != nil {
		args.Set("initial-cluster-state", argsbuilder.Value{initial.state})
		args.Set("initial-cluster", argsbuilder.Value{initial.members})
	}

	if err := args.Merge(extra, denied); err != nil {
		return nil, err
	}

	return args.Args(), nil
}

// environment of etcd: its flags can be set by variables too, and those of the lab's user are not meant for it.
func environment(all []string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(variable string) bool { return strings.HasPrefix(variable, "ETCD_") })

	return append(kept, cipherSuites)
}
