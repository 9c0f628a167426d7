// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"reflect"
	"slices"
)

// HostState holds everything on bare metal that a change of managers must not change.
type HostState struct {
	// Hosts are BareMetalHosts by name.
	Hosts map[string]host
	// Objects are the provider's objects in v1beta1, by kind and name.
	Objects map[string]kept
	// Secrets are the Secrets that hosts boot with, by name.
	Secrets map[string]kept
	// Machines are the Machines by name.
	Machines map[string]machine
	// Claims are the IPAddressClaims with their addresses by name.
	Claims map[string]claim
}

// host holds the settings of a host and the operator's results.
type host struct {
	UID, Operation        string
	Consumer, State       string // of the spec and of the status
	Powered               bool
	Labels                map[string]string
	Finalizers            []string
	Spec, Status, History any
}

// kept holds what the provider, other controllers and users have written.
type kept struct {
	UID                 string
	Content             any
	Labels, Annotations map[string]string
	Finalizers, Owners  []string
}

// Differences describes what has changed.
func (s HostState) Differences(now HostState) []string {
	return slices.Concat(
		compare("host", s.Hosts, now.Hosts), compare("object", s.Objects, now.Objects), compare("Secret", s.Secrets, now.Secrets),
		compare("Machine", s.Machines, now.Machines), compare("IPAddressClaim", s.Claims, now.Claims),
	)
}

// withoutEmpty removes empty fields from a value, because a writer may omit them or not.
func withoutEmpty(value any) any {
	fields, ok := value.(map[string]any)
	if !ok {
		if list, ok := value.([]any); ok {
			out := make([]any, 0, len(list))
			for _, item := range list {
				out = append(out, withoutEmpty(item))
			}
			return out
		}
		return value
	}
	out := map[string]any{}
	for name, field := range fields {
		if field = withoutEmpty(field); !slices.ContainsFunc(nothing(), func(empty any) bool { return reflect.DeepEqual(field, empty) }) {
			out[name] = field
		}
	}
	return out
}

func nothing() []any { return []any{nil, "", map[string]any{}, []any{}} }
