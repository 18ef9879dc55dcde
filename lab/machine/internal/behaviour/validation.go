package behaviour

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-multierror"
	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
)

// Refuse says why a version does not accept a config that the machinery accepts; nil if it does.
//
// Before Talos 1.14 a machine that is not installed refused a config that does not install it. And every version has
// Kubernetes of its own years only: the machinery looks at those of its own version.
func (b Behaviour) Refuse(cfg config.Config, uninstalled bool, version string) error {
	if b.KubernetesDocuments || cfg.Machine() == nil {
		return nil
	}

	var problems *multierror.Error

	if install := cfg.Machine().Install(); uninstalled && install.Disk() == "" {
		switch expression, err := install.DiskMatchExpression(); {
		case err != nil:
			problems = multierror.Append(problems, fmt.Errorf("install disk selector is invalid: %w", err))
		case expression == nil:
			problems = multierror.Append(problems, errors.New("either install disk or diskSelector should be defined"))
		}
	}

	images := map[string]string{}

	if kubelet := cfg.K8sKubeletConfig(); kubelet != nil {
		images["kubelet"] = kubelet.Image()
	}

	if cfg.Machine().Type().IsControlPlane() && cfg.Cluster() != nil {
		images["kube-apiserver"] = cfg.K8sAPIServerConfig().Image()
		images["kube-controller-manager"] = cfg.K8sControllerManagerConfig().Image()
		images["kube-scheduler"] = cfg.K8sSchedulerConfig().Image()
	}

	talos, err := compatibility.ParseTalosVersion(&machineapi.VersionInfo{Tag: version})
	if err != nil {
		return err
	}

	for name, image := range images {
		kubernetes, err := compatibility.KubernetesVersionFromImageRef(image)
		if err == nil {
			err = kubernetes.SupportedWith(talos)
		}

		if err != nil {
			problems = multierror.Append(problems, fmt.Errorf("%s image is not valid: %w", name, err))
		}
	}

	return problems.ErrorOrNil()
}
