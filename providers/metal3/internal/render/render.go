// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render renders the metaData and networkData of a machine from a Metal3DataTemplate. The result depends only on the
// arguments, so that rendering is reproducible.
package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// Input holds the values that a template can refer to.
type Input struct {
	// Namespace of all the objects.
	Namespace string
	// Index is the machine's index in the template.
	Index         int32
	Machine       Object
	Metal3Machine Object
	Host          Host
	// Addresses are the addresses of the machine, by the name of their pool.
	Addresses map[string]Address
}

// Object holds the values that a template can refer to for any object that belongs to a machine.
type Object struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
}

// Host is the BareMetalHost.
type Host struct {
	Object
	BootMAC    string
	Interfaces []Interface
}

// Interface is a network interface found by inspection.
type Interface struct {
	Name string
	MAC  string
}

// Address is an address from a pool, with the network settings of the pool.
type Address struct {
	Address    string
	Prefix     int32
	Gateway    string
	DNSServers []string
}

// object returns the named object, and its description for messages.
func (in *Input) object(name infrav1.DataObject) (Object, string, error) {
	switch infrav1.DataObject(strings.ToLower(string(name))) {
	case infrav1.DataObjectMachine:
		return in.Machine, "Machine " + in.Machine.Name, nil
	case infrav1.DataObjectMetal3Machine:
		return in.Metal3Machine, "Metal3Machine " + in.Metal3Machine.Name, nil
	case infrav1.DataObjectBareMetalHost:
		return in.Host.Object, "BareMetalHost " + in.Host.Name, nil
	default:
		return Object{}, "", fmt.Errorf("object is %q: use %s, %s or %s", name,
			infrav1.DataObjectMachine, infrav1.DataObjectMetal3Machine, infrav1.DataObjectBareMetalHost)
	}
}

// annotation returns the value of a required annotation.
func (in *Input) annotation(name infrav1.DataObject, key string) (string, error) {
	object, title, err := in.object(name)
	if err != nil {
		return "", err
	}
	value := object.Annotations[key]
	if value == "" {
		return "", fmt.Errorf("%s has no annotation %s: set it", title, key)
	}
	return value, nil
}

// interfaceMAC returns the MAC address of one of the host's interfaces.
func (in *Input) interfaceMAC(name string) (string, error) {
	names := make([]string, 0, len(in.Host.Interfaces))
	for _, nic := range in.Host.Interfaces {
		if nic.Name == name {
			return nic.MAC, nil
		}
		names = append(names, nic.Name)
	}
	if len(names) == 0 {
		return "", fmt.Errorf("BareMetalHost %s has no interface %s: inspection has found none", in.Host.Name, name)
	}
	return "", fmt.Errorf("BareMetalHost %s has no interface %s; it has %s", in.Host.Name, name, strings.Join(names, ", "))
}

// at adds the path of the template field to an error.
func at(path *field.Path, err error) error {
	return fmt.Errorf("%s: %w", path, err)
}

// MetaDataSecret returns the name of the Secret with the metaData of a Metal3Machine.
func MetaDataSecret(metal3Machine string) string {
	return metal3Machine + "-metadata"
}

// NetworkDataSecret returns the name of the Secret with the networkData of a Metal3Machine.
func NetworkDataSecret(metal3Machine string) string {
	return metal3Machine + "-networkdata"
}
