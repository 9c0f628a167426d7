// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// races makes the race detector of a manager write its reports to files, because other output of the manager is truncated. It
// returns the variable for the manager's environment, and a function that fails the test with the reports after the manager has
// exited.
func races(t *testing.T) (variable string, report func()) {
	t.Helper()
	const gorace = "GORACE"
	begin := filepath.Join(t.TempDir(), "race")
	return gorace + "=" + os.Getenv(gorace) + " log_path=" + begin, func() {
		t.Helper()
		files, err := filepath.Glob(begin + ".*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			found, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Errorf("the race detector has found:\n%s", found)
		}
	}
}
