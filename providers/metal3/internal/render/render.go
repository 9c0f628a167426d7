// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package render makes the metaData and the networkData of a machine out of a Metal3DataTemplate. What it makes depends
// on its arguments only, so that the same machine gets the same data whoever renders it and whenever.
package render

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// Input is what a template may refer to.
type Input struct {
	// Namespace of all the objects.
	Namespace string
	// Index is the machine's number among those of its template.
	Index         int32
	Machine       Object
	Metal3Machine Object
	Host          Host
	// Addresses are those that the machine has, by the name of the pool.
	Addresses map[string]Address
}

// Object is what a template may refer to of every object behind a machine.
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

// Interface is a network interface that inspection has found.
type Interface struct {
	Name string
	MAC  string
}

// Address is an address out of a pool, with what the pool says of its network.
type Address struct {
	Address    string
	Prefix     int32
	Gateway    string
	DNSServers []string
}

// object returns the object of the name, and what to call it in a message.
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

// annotation returns the value of an annotation that must be there.
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
		return "", fmt.Errorf("BareMetalHost %s has no interface %s: its inspection has found none", in.Host.Name, name)
	}
	return "", fmt.Errorf("BareMetalHost %s has no interface %s; it has %s", in.Host.Name, name, strings.Join(names, ", "))
}

// at tells in which field of the template the error is.
func at(path *field.Path, err error) error {
	return fmt.Errorf("%s: %w", path, err)
}

// MetaDataSecret is the name of the Secret with the metaData of a Metal3Machine.
func MetaDataSecret(metal3Machine string) string {
	return metal3Machine + "-metadata"
}

// NetworkDataSecret is the name of the Secret with the networkData of a Metal3Machine.
func NetworkDataSecret(metal3Machine string) string {
	return metal3Machine + "-networkdata"
}
