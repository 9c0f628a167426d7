// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import "maps"

// Attach takes what Up has found out in another process, as Variables tells it there:
// an environment that is up serves several processes.
func (e *Environment) Attach(variables map[string]string) { e.found.variables = maps.Clone(variables) }
