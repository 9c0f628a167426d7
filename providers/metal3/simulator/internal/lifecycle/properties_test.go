// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package lifecycle

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	corev1 "k8s.io/api/core/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// annotate is annotated for a host that already has annotations.
func annotate(key string) change {
	return func(v *View) { v.Host.Annotations[key] = "" }
}

func external(wanted bool) change {
	return with(func(host *bmov1alpha1.BareMetalHost) { host.Spec.ExternallyProvisioned = wanted })
}

// disturbances are changes of a host by users, consumers and the hardware.
var disturbances = map[string]change{
	"claim": with(func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "machine"}
	}),
	"image":       wanting(image),
	"other image": wanting(other),
	"no image": with(func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.Image, host.Spec.CustomDeploy = nil, nil
	}),
	"custom deployment": with(func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.CustomDeploy = &bmov1alpha1.CustomDeploy{Method: "install"}
	}),
	"on":             with(online),
	"off":            with(offline),
	"reboot":         annotate(bmov1alpha1.RebootAnnotationPrefix),
	"stay off":       annotate(bmov1alpha1.RebootAnnotationPrefix + "/me"),
	"inspect":        annotate(bmov1alpha1.InspectAnnotationPrefix),
	"pause":          annotate(bmov1alpha1.PausedAnnotation),
	"detach":         annotate(bmov1alpha1.DetachedAnnotation),
	"no annotations": with(func(host *bmov1alpha1.BareMetalHost) { clear(host.Annotations) }),
	"other settings": with(func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.RootDeviceHints = &bmov1alpha1.RootDeviceHints{Model: "m"}
	}),
	"externally provisioned":     external(true),
	"not externally provisioned": external(false),
	"the BMC breaks":             broken,
	"the host hangs":             stuck,
	"the domain is lost":         unlit,
	"the power fails":            switchedOff,
	"the system hangs":           func(v *View) { v.Fault.Hung = true },
	"all is well":                func(v *View) { v.Fault = Fault{} },
	"the Secret goes":            func(v *View) { v.Secret = "" },
	"the Secret comes":           func(v *View) { v.Secret = "9" },
	"reconciled early":           early,
	"time passes":                func(v *View) { v.Due = true },
	"deletion":                   deleted,
}

// apply executes a step as the reconciler does, on a copy of the host.
func apply(v View, s Step) View {
	v.Host = v.Host.DeepCopy()
	if s.Machine != "" {
		v.Machine = s.Machine
	}
	if s.Status != nil {
		v.Host.Status = *s.Status
	}
	if s.Finalize {
		v.Host.Finalizers = []string{bmov1alpha1.BareMetalHostFinalizer}
	}
	if s.Release {
		v.Host.Finalizers = nil
	}
	maps.DeleteFunc(v.Host.Annotations, func(key, _ string) bool { return slices.Contains(s.Drop, key) })
	return v
}

// settle applies steps until nothing is left to do, and fails if they do not end.
func settle(rt *rapid.T, v View, check func(before, after View)) View {
	const enough = 60
	for range enough {
		s := Next(v)
		if s.Idle() {
			return v
		}
		after := apply(v, s)
		check(v, after)
		if v.Fault.Message != "" || after.Host.Status.ErrorCount > v.Host.Status.ErrorCount {
			after.Due = false // the next attempt is later
		}
		v = after
	}
	rt.Fatalf("still busy after %d steps, in state %q with %+v", enough, v.state(), v.Fault)
	return v
}

func newView() View {
	v := in("")
	v.Host.Finalizers, v.Host.Annotations = nil, map[string]string{}
	return v
}

// The guarantees that the consumers of hosts rely on, whatever happens to a host.
func TestOrderOfStates(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := slices.Sorted(maps.Keys(disturbances))
		v := newView()
		for range rapid.IntRange(1, 25).Draw(rt, "length") {
			disturbances[rapid.SampledFrom(names).Draw(rt, "what")](&v)
			v = settle(rt, v, func(before, after View) { checkOrder(rt, before, after) })
		}
	})
}

func checkOrder(rt *rapid.T, before, after View) {
	from, to := before.state(), after.state()
	status := after.Host.Status
	switch {
	case from == available && to == provisioning && before.unwanted():
		rt.Fatalf("a host without an image does not stay available")
	case from == provisioned && to != from && !before.unwanted() && !before.replaced() && !before.deleting():
		rt.Fatalf("a host leaves provisioned although its image is wanted")
	case from == provisioned && to != from && to != deprovisioning && to != leaving:
		rt.Fatalf("a host goes from provisioned to %s", to)
	case to == available && after.Host.WasProvisioned() && !after.Host.Spec.ExternallyProvisioned:
		rt.Fatalf("a host is available with an image on its disks")
	case (status.ErrorType == "") != (status.ErrorMessage == ""):
		rt.Fatalf("error %q with message %q", status.ErrorType, status.ErrorMessage)
	case from != "" && to == "":
		rt.Fatalf("a host forgets its state")
	case before.deleting() && to == available && from != to:
		rt.Fatalf("a host that is being deleted is available")
	}
}

// Whatever its history, a host that is not paused, stuck or waiting for a client can be deleted, broken or not. A host without
// power must be detached.
func TestEveryHostCanBeDeleted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		names := slices.Sorted(maps.Keys(disturbances))
		v := newView()
		for range rapid.IntRange(1, 15).Draw(rt, "length") {
			disturbances[rapid.SampledFrom(names).Draw(rt, "what")](&v)
			v = settle(rt, v, func(View, View) {})
		}
		deleted(&v)
		clear(v.Host.Annotations)
		v.Fault.Stuck = false
		if v.Fault.Dark {
			v.Host.Annotations[bmov1alpha1.DetachedAnnotation] = `{"force":true}`
		}
		for range attempts * 3 {
			v.Due = true
			v = settle(rt, v, func(View, View) {})
		}
		if len(v.Host.Finalizers) > 0 {
			rt.Fatalf("not deleted, in state %q with %q", v.state(), v.Host.Status.ErrorMessage)
		}
	})
}
