// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// objects holds the objects that belong to a machine. They are found one after the other; host is only set if all others are.
type objects struct {
	metal3Machine *infrav1.Metal3Machine
	machine       *clusterv1.Machine
	host          *bmov1alpha1.BareMetalHost
}

// readObjects reads the objects that the data is rendered from. It returns a problem if an object that should exist does not, and
// no problem if an object is merely not created yet.
func (r *Reconciler) readObjects(ctx context.Context, s *scope) (problem string, err error) {
	template := &infrav1.Metal3DataTemplate{}
	if found, err := r.find(ctx, s.data, s.data.Spec.Template.Name, template); err != nil {
		return "", err
	} else if !found {
		return fmt.Sprintf("Metal3DataTemplate %s does not exist: create it", s.data.Spec.Template.Name), nil
	}
	s.template = template
	if err := r.readMachine(ctx, s); err != nil || s.machine == nil {
		return "", err
	}
	name := hosts.Named(s.metal3Machine)
	host := &bmov1alpha1.BareMetalHost{}
	switch found, err := r.find(ctx, s.data, name, host); {
	case err != nil:
		return "", err
	case found:
		s.host = host
	case name != "":
		return fmt.Sprintf("BareMetalHost %s of Metal3Machine %s does not exist", name, s.metal3Machine.Name), nil
	}
	return "", nil
}

// readMachine reads the Metal3Machine of the claim and its Machine.
func (r *Reconciler) readMachine(ctx context.Context, s *scope) error {
	claim, machine := &infrav1.Metal3DataClaim{}, &infrav1.Metal3Machine{}
	if found, err := r.find(ctx, s.data, s.data.Spec.Claim.Name, claim); err != nil || !found {
		return err
	}
	if found, err := r.find(ctx, s.data, ownerName(claim.OwnerReferences, "Metal3Machine"), machine); err != nil || !found {
		return err
	}
	var err error
	s.metal3Machine = machine
	s.machine, err = reconcile.OwnerMachine(ctx, r.Client, machine)
	return err
}

// find reads an object in the namespace of the data and reports whether it exists. An empty name is not found.
func (r *Reconciler) find(ctx context.Context, data *infrav1.Metal3Data, name string, into client.Object) (bool, error) {
	if name == "" {
		return false, nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: data.Namespace, Name: name}, into)
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsNotFound(err):
		return false, nil
	default:
		return false, fmt.Errorf("reading %T %s: %w", into, name, err)
	}
}

// ownerName returns the name of the owner of the kind, in any version of our API group.
func ownerName(owners []metav1.OwnerReference, kind string) string {
	for _, owner := range owners {
		gv, err := schema.ParseGroupVersion(owner.APIVersion)
		if err == nil && gv.Group == infrav1.GroupVersion.Group && owner.Kind == kind {
			return owner.Name
		}
	}
	return ""
}

// input returns the data that the template can refer to, without addresses.
func (s *scope) input() *render.Input {
	in := &render.Input{
		Namespace:     s.data.Namespace,
		Index:         s.data.Spec.Index,
		Machine:       describe(s.machine),
		Metal3Machine: describe(s.metal3Machine),
		Host:          render.Host{Object: describe(s.host), BootMAC: s.host.Spec.BootMACAddress},
	}
	if s.host.Status.HardwareDetails != nil {
		for _, nic := range s.host.Status.HardwareDetails.NIC {
			in.Host.Interfaces = append(in.Host.Interfaces, render.Interface{Name: nic.Name, MAC: nic.MAC})
		}
	}
	return in
}

func describe(o client.Object) render.Object {
	return render.Object{Name: o.GetName(), Labels: o.GetLabels(), Annotations: o.GetAnnotations()}
}
