// Package manifests is what a Talos control-plane machine does with Kubernetes manifests: it renders its own and those of
// its config, publishes them as resources, and puts them into the cluster.
//
// A Renderer follows the machine config and writes Manifests; a Controller takes them and runs passes over the API server.
// A pass happens when the machine starts, when a manifest changed, and again after an error: an object that somebody edited
// or deleted does not cause one. Every control-plane machine does this by its own config.
package manifests
