// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/rules"
)

// apiServerListener is the name of the listener that is added to a load balancer.
const apiServerListener = "api-server"

// validateLoadBalancer validates the load balancer of a control plane. port is the API server's port, 0 for the default.
func validateLoadBalancer(config infrav1.LoadBalancerConfig, port int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	hasPool := config.IPPool != (infrav1.IPPool{})
	if config.IPAMType == infrav1.DHCP {
		for name, given := range map[string]bool{"ipPool": hasPool, "ipPoolRef": config.IPPoolRef != ""} {
			if given {
				errs = append(errs, field.Forbidden(path.Child(name), "must not be set with ipamType dhcp: remove it, or set ipamType to pool"))
			}
		}
	}
	if hasPool {
		errs = append(errs, validatePool(config.IPPool, path.Child("ipPool"))...)
	}
	return append(errs, validateListeners(config.Listeners, cmp.Or(port, defaultAPIServerPort), path.Child("listeners"))...)
}

// validateListeners requires unique listeners. The API server's listener may be listed; otherwise it is added.
func validateListeners(listeners []infrav1.Listener, apiServer int32, path *field.Path) field.ErrorList {
	names, ports := map[string]bool{}, map[string]bool{}
	var errs field.ErrorList
	for i, listener := range listeners {
		path := path.Index(i)
		port := fmt.Sprintf("%s %d", listener.Protocol, listener.Port)
		switch {
		case len(validation.IsDNS1123Label(listener.Name)) > 0:
			errs = append(errs, field.Invalid(path.Child("name"), listener.Name, "must be a port name: at most 63 lower-case letters, digits and '-'"))
		case names[listener.Name]:
			errs = append(errs, field.Duplicate(path.Child("name"), listener.Name))
		case listener.Name == apiServerListener && port != fmt.Sprintf("%s %d", corev1.ProtocolTCP, apiServer):
			errs = append(errs, field.Invalid(path.Child("name"), listener.Name, "must not be the name of the API server's listener, which the controller adds: choose another name"))
		}
		if ports[port] {
			errs = append(errs, field.Duplicate(path.Child("port"), listener.Port))
		}
		names[listener.Name], ports[port] = true, true
		errs = append(errs, validatePort(listener.Port, path.Child("port"))...)
		errs = append(errs, validatePort(listener.BackendPort, path.Child("backendPort"))...)
	}
	return errs
}

func validatePort(port int32, path *field.Path) field.ErrorList {
	if len(validation.IsValidPortNum(int(port))) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, port, "must be between 1 and 65535")}
}

// warnLoadBalancer returns warnings about a valid but surprising load balancer.
func warnLoadBalancer(config infrav1.LoadBalancerConfig, path *field.Path) admission.Warnings {
	if config.IPAMType == infrav1.POOL && config.IPPoolRef == "" && config.IPPool == (infrav1.IPPool{}) {
		return admission.Warnings{rules.Warning(path.Child("ipPoolRef"),
			"does not name a pool, so Harvester selects one by the selectors of its pools; name a pool to select it yourself")}
	}
	return warnPoolName(config.IPPoolRef, path.Child("ipPoolRef"))
}

// recordedPoolName returns the name that earlier releases stored in ipPoolRef for the pool that was created from ipPool.
func recordedPoolName(cluster *infrav1.HarvesterCluster) string {
	name := strings.ToLower(cluster.Namespace + "-" + cluster.Name + "-ippool")
	return name[:min(len(name), validation.DNS1123LabelMaxLength)]
}
