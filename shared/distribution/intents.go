// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"fmt"
	"strings"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// InvalidIntents returns what is wrong with spec.distribution.failureDomains and how to fix it; "" if it is valid. A misspelt name
// could mean any other failure domain, so callers must not move machines until it is corrected.
func InvalidIntents(intents []faultlinev1.FailureDomainIntent, isDomain func(name string) bool) string {
	states := map[string]faultlinev1.DomainState{}
	var wrong []string
	for _, intent := range intents {
		before, known := states[intent.Name]
		if known && before != intent.State {
			wrong = append(wrong, fmt.Sprintf("%s has both states %s and %s", intent.Name, before, intent.State))
		}
		states[intent.Name] = intent.State
		if !known && !isDomain(intent.Name) {
			wrong = append(wrong, noDomain(intent.Name))
		}
	}
	return correct(wrong)
}

func noDomain(name string) string { return name + " is not a failure domain of this cluster" }

// correct adds the field and the fix to errors about its entries; "" if there are none.
func correct(wrong []string) string {
	if len(wrong) == 0 {
		return ""
	}
	return fmt.Sprintf("spec.distribution.failureDomains: %s: correct the entry, or remove it", strings.Join(wrong, "; "))
}

// WithCapacityFix appends the fix to the reason for which there is no capacity for machines.
func WithCapacityFix(why string) string {
	return why + ": add capacity or a failure domain, or set the state of one to Active in spec.distribution.failureDomains"
}
