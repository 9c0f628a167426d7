// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator/internal/operator"
)

// Layout defines hosts spread over failure domains.
type Layout struct {
	Domains []Domain
	// First is the number of the first host, from which MAC and IP addresses are derived; 0 means 1. Layouts that are used
	// together need disjoint numbers.
	First int
	// Offline leaves the hosts powered off until a client sets spec.online.
	Offline bool
	// Ready makes the hosts available at once, without registration and inspection. They have no HardwareData.
	Ready bool
	// Change modifies each host before it is created; it may be nil.
	Change func(*bmov1alpha1.BareMetalHost)
}

// Domain is a failure domain, typically a rack.
type Domain struct {
	// Name is the value of the hosts' failure domain label and the prefix of their names. Hosts of a domain without a name have
	// no label.
	Name  string
	Hosts int
	// Labels are set on every host of the domain.
	Labels map[string]string
}

// Racks returns a layout of equal failure domains: rack-1, rack-2 and so on.
func Racks(racks, hostsPerRack int) Layout {
	layout := Layout{}
	for i := range racks {
		layout.Domains = append(layout.Domains, Domain{Name: fmt.Sprintf("rack-%d", i+1), Hosts: hostsPerRack})
	}
	return layout
}

// Hosts returns the hosts of the layout, ready to be created.
func (l Layout) Hosts(namespace string) []bmov1alpha1.BareMetalHost {
	var out []bmov1alpha1.BareMetalHost
	number := max(l.First, 1)
	for _, domain := range l.Domains {
		for i := range domain.Hosts {
			host := l.host(namespace, domain, i)
			host.Spec.BootMACAddress = operator.MAC(number)
			number++
			if l.Change != nil {
				l.Change(&host)
			}
			out = append(out, host)
		}
	}
	return out
}

func (l Layout) host(namespace string, domain Domain, i int) bmov1alpha1.BareMetalHost {
	name := fmt.Sprintf("host-%03d", i+1)
	labels := maps.Clone(domain.Labels)
	if domain.Name != "" {
		name = strings.ToLower(domain.Name) + "-" + name
		labels = map[string]string{DomainLabel: domain.Name}
		maps.Copy(labels, domain.Labels)
	}
	return bmov1alpha1.BareMetalHost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: bmov1alpha1.BareMetalHostSpec{
			Online: !l.Offline,
			BMC: bmov1alpha1.BMCDetails{
				Address: "redfish-virtualmedia+https://" + name + ".bmc.example.com/redfish/v1/Systems/1", CredentialsName: name + "-bmc",
			},
		},
	}
}

// credentials returns the BMC Secret of a host, which must be in the host's namespace.
func credentials(host *bmov1alpha1.BareMetalHost) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: host.Namespace, Name: host.Spec.BMC.CredentialsName,
			Labels: map[string]string{operator.SecretLabel: operator.SecretLabelValue, moveLabel: ""},
		},
		StringData: map[string]string{"username": "admin", "password": "simulated"},
	}
}
