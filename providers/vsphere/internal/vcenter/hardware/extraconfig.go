// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// ExtraConfig returns advanced settings as vCenter's type. An empty value removes a setting.
func ExtraConfig(values map[string]string) []types.BaseOptionValue {
	var options []types.BaseOptionValue
	for _, name := range slices.Sorted(maps.Keys(values)) {
		options = append(options, &types.OptionValue{Key: name, Value: values[name]})
	}
	return options
}
