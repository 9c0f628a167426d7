// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package loadbalancer

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// Validate validates a load balancer by itself. The webhook applies it to writes, and the controller applies it again. The listeners of a
// guest cluster's load balancer are not validated.
func Validate(spec lbv1.LoadBalancerSpec) field.ErrorList {
	path := field.NewPath("spec")
	errs := validatePool(spec, path.Child("ipPool"))
	if spec.WorkloadType == lbv1.WorkloadCluster {
		return errs
	}
	errs = append(errs, validateListeners(spec.Listeners, path.Child("listeners"))...)
	if spec.HealthCheck != nil && spec.HealthCheck.Port != 0 {
		errs = append(errs, validateHealthCheck(*spec.HealthCheck, spec.Listeners, path.Child("healthCheck"))...)
	}
	return errs
}

// validatePool validates the name of the pool.
func validatePool(spec lbv1.LoadBalancerSpec, path *field.Path) field.ErrorList {
	if spec.IPAM == lbv1.IPAMDHCP || spec.IPPool == "" || ippools.IsName(spec.IPPool) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, spec.IPPool,
		"must be the name of an IPPool, which has no namespace: lower-case letters, digits, '-' and '.'")}
}

// ValidateChange rejects changes that would leak an address or leave machines behind.
func ValidateChange(before, after lbv1.LoadBalancerSpec) field.ErrorList {
	path := field.NewPath("spec")
	var errs field.ErrorList
	if was, is := before.IPAM == lbv1.IPAMDHCP, after.IPAM == lbv1.IPAMDHCP; was != is {
		errs = append(errs, field.Forbidden(path.Child("ipam"), "may not be changed, because the load balancer got its address that way: create another load balancer"))
	}
	if was, is := before.WorkloadType == lbv1.WorkloadCluster, after.WorkloadType == lbv1.WorkloadCluster; was != is {
		errs = append(errs, field.Forbidden(path.Child("workloadType"), "may not be changed, because the load balancer was created for the other type: create another load balancer"))
	}
	return errs
}

// validateListeners validates what a Service requires, and that listeners differ.
func validateListeners(listeners []lbv1.Listener, path *field.Path) field.ErrorList {
	if len(listeners) == 0 {
		return field.ErrorList{field.Required(path, "must have a listener with a port, its protocol and the backendPort of the machines")}
	}
	names, ports, backends := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var errs field.ErrorList
	for i, l := range listeners {
		path := path.Index(i)
		errs = append(errs, validateName(l.Name, names[l.Name], len(listeners), path.Child("name"))...)
		if !slices.Contains([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}, l.Protocol) {
			errs = append(errs, field.NotSupported(path.Child("protocol"), l.Protocol, []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}))
		}
		for _, port := range []struct {
			name   string
			number int32
			known  map[string]bool
		}{{"port", l.Port, ports}, {"backendPort", l.BackendPort, backends}} {
			path, key := path.Child(port.name), fmt.Sprintf("%s %d", l.Protocol, port.number)
			switch {
			case len(validation.IsValidPortNum(int(port.number))) > 0:
				errs = append(errs, field.Invalid(path, port.number, "must be between 1 and 65535"))
			case port.known[key]:
				errs = append(errs, field.Duplicate(path, key))
			}
			port.known[key] = true
		}
		names[l.Name] = true
	}
	return errs
}

// validateName validates the name of a listener. A single listener may have none.
func validateName(name string, known bool, of int, path *field.Path) field.ErrorList {
	switch {
	case name == "" && of == 1:
		return nil
	case name == "":
		return field.ErrorList{field.Required(path, "must be set if there are several listeners")}
	case known:
		return field.ErrorList{field.Duplicate(path, name)}
	case len(validation.IsDNS1123Label(name)) > 0:
		return field.ErrorList{field.Invalid(path, name, "must consist of at most 63 lower-case letters, digits and '-', because it is the name of a port")}
	}
	return nil
}

// validateHealthCheck requires the port to be the backend port of a TCP listener: other protocols do not respond to connections.
func validateHealthCheck(check lbv1.HealthCheck, listeners []lbv1.Listener, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	to := func(protocol corev1.Protocol) bool {
		return slices.ContainsFunc(listeners, func(l lbv1.Listener) bool {
			return l.BackendPort >= 0 && uint(l.BackendPort) == check.Port && (protocol == "" || l.Protocol == protocol)
		})
	}
	switch {
	case !to(""):
		errs = append(errs, field.Invalid(path.Child("port"), check.Port, "must be the backendPort of a listener"))
	case !to(corev1.ProtocolTCP):
		errs = append(errs, field.Invalid(path.Child("port"), check.Port, "must be the backendPort of a TCP listener: use one, or remove the health check"))
	}
	for _, given := range []struct {
		name  string
		value uint
	}{
		{"successThreshold", check.SuccessThreshold}, {"failureThreshold", check.FailureThreshold},
		{"periodSeconds", check.PeriodSeconds}, {"timeoutSeconds", check.TimeoutSeconds},
	} {
		if given.value == 0 {
			errs = append(errs, field.Invalid(path.Child(given.name), 0, "must be at least 1"))
		}
	}
	return errs
}

// AnyCluster is the default cluster name of the cloud provider. Load balancers with it may belong to any cluster.
const AnyCluster = "kubernetes"

// NamedAfter reports whether the name of a machine created by Rancher, or of one of its disks, belongs to the guest cluster.
func NamedAfter(cluster, name string) bool { return strings.HasPrefix(name, cluster+"-") }
