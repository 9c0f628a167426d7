// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/shared/machines"
)

// controlPlaneKind is what differs between the kinds of control planes.
type controlPlaneKind struct {
	machines.ControlPlaneKind
	// flavor ends the flavor of the templates; "" if no flavor names the kind.
	flavor string
	// lacks are the acts for which the kind has no equivalent.
	lacks []act
	// upgraded is the version in its spec after an upgrade. No program of that version is run.
	upgraded string
	// pauseReported is true if it has a condition that reports a pause.
	pauseReported bool
	// object and list return empty objects.
	object func() client.Object
	list   func() client.ObjectList
	// addTo adds the managers that the kind needs in addition to Cluster API's.
	addTo func(options *environment.Options) error
}

// DefaultControlPlane is the kind of control planes in RebalanceMode if none is named.
const DefaultControlPlane = "kubeadm"

// controlPlaneKinds returns the kinds by the names of their providers.
func controlPlaneKinds() map[string]controlPlaneKind {
	return map[string]controlPlaneKind{DefaultControlPlane: kubeadm(), "rke2": rke2()}
}

// ControlPlaneNames returns the names of the kinds of control planes.
func ControlPlaneNames() []string { return sortedKeys(controlPlaneKinds()) }

func kubeadm() controlPlaneKind {
	return controlPlaneKind{
		ControlPlaneKind: machines.Kubeadm{}, upgraded: "v1.36.99", pauseReported: true,
		object: func() client.Object { return &controlplanev1.KubeadmControlPlane{} },
		list:   func() client.ObjectList { return &controlplanev1.KubeadmControlPlaneList{} },
		addTo:  func(*environment.Options) error { return nil },
	}
}

func rke2() controlPlaneKind {
	object := ofKind(machines.RKE2{}.Facts().Kind.WithVersion(controlplanev1.GroupVersion.Version))
	return controlPlaneKind{
		ControlPlaneKind: machines.RKE2{}, flavor: "rke2", upgraded: "v1.36.99+rke2r1",
		lacks:  []act{rollOut}, // It has no field to replace all machines.
		object: func() client.Object { return object.DeepCopy() },
		list:   func() client.ObjectList { return listOf(object) },
		addTo: func(options *environment.Options) error {
			_, err := environment.AddRKE2(options)
			return err
		},
	}
}

// can reports whether an act is possible.
func (k controlPlaneKind) can(a act) bool { return !slices.Contains(k.lacks, a) }

// named returns the control plane with a name.
func (k controlPlaneKind) named(namespace, name string) client.Object {
	object := k.object()
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// template returns the path below the folder templates of a provider's template with a control plane of the kind, which must exist.
func (k controlPlaneKind) template(root string, about provider.Description) (string, error) {
	flavor := strings.Trim(about.ExternalEndpoint+"-"+k.flavor, "-")
	path := filepath.Join(root, "templates", about.Name, about.Template(flavor))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("finding the template of provider %s for %s: %w", about.Name, k.Facts().Kind.Kind, err)
	}
	return path, nil
}

// change returns what a change of an observed control plane changes in the state.
func (k controlPlaneKind) change(object client.Object, _ bool) change {
	is, err := k.Observe(object)
	return change{what: k.Facts().Kind.Kind, apply: func(s *state) {
		if err != nil {
			return
		}
		s.moment.replicas, s.moment.paused, s.moment.rollout, s.remediation = is.Replicas, is.Paused, is.RolloutAfter, is.Remediation
	}}
}
