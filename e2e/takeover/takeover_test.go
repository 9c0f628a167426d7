//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/provider"
)

const timeout = 4 * time.Minute

// newFolder returns a folder for the files of a test, which is kept if the test fails.
func newFolder(t *testing.T) string {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	format.MaxLength = 0                      // Show all differences.
	dir, err := os.MkdirTemp("", "takeover-") //nolint:usetesting // The logs must survive a failure.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log("logs are in " + dir)
			return
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

// fixture is a test in an environment.
type fixture struct {
	*testing.T
	Gomega
	*environment
}

// settles waits until the cluster has this number of healthy machines.
func (w *fixture) settles(machines int) {
	w.Helper()
	w.until(func(ctx context.Context) (string, error) { return w.settled(ctx, machines) })
}

func (w *fixture) until(check func(context.Context) (string, error)) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), timeout)
	defer cancel()
	w.Expect(provider.Until(ctx, check)).To(Succeed())
}

// preflight runs the preflight check on upstream's installation of a provider, and returns its output, which must report no blocker.
func (w *fixture) preflight(dir, name string) string {
	program := filepath.Join(dir, "kubectl-fd")
	build := exec.CommandContext(w.Context(), "go", "build", "-o", program, ".")
	build.Dir = filepath.Join("..", "..", "kubectl-fd")
	build.Env = append(os.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "%s", out)
	out, err = exec.CommandContext(w.Context(), program, "preflight", name, "--kubeconfig", w.management.Kubeconfig, "--cache-dir", dir).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "nothing stops the change: %s", out)
	w.Log(string(out))
	w.Expect(string(out)).To(And(Not(ContainSubstring("Refused")), ContainSubstring("0 to fix before the takeover")))
	return string(out)
}

// restart restarts a manager, as the documentation requires for Cluster API's: see watches_test.go.
func (w *fixture) restart(manager string) {
	w.Expect(w.management.Terminate(manager)).To(Succeed())
	w.startAgain(manager)
}

func (w *fixture) startAgain(manager string) {
	ready, err := w.management.Restart(w.Context(), manager)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(ready(w.Context())).To(Succeed())
}

// noStaleConditions expects objects that upstream created to have no conditions that our objects of the same owner lack: conditions that
// only upstream sets must have been removed.
func (w *fixture) noStaleConditions(before map[string]machine, kind string, owners ...string) {
	for _, version := range []string{"v1beta1", "v1beta2"} {
		for _, owner := range owners {
			w.noStaleConditionsOf(before, kind, version, owner)
		}
	}
}

func (w *fixture) noStaleConditionsOf(before map[string]machine, kind, version, owner string) {
	objects, err := w.managed.list(w.Context(), version, kind)
	w.Expect(err).NotTo(HaveOccurred())
	var taken, made []string
	for i := range objects {
		name := objects[i].GetName()
		_, old := before[name]
		switch {
		case !strings.HasPrefix(name, owner+"-"):
		case old:
			taken = append(taken, conditionsOf(&objects[i])...)
		default:
			made = conditionsOf(&objects[i])
		}
	}
	w.Expect(taken).NotTo(BeEmpty())
	slices.Sort(taken)
	w.Expect(made).To(ContainElements(slices.Compact(taken)), "%s of %s in %s", kind, owner, version)
}

// conditionsOf returns the types of an object's conditions with their paths.
func conditionsOf(object *unstructured.Unstructured) []string {
	var types []string
	for _, path := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}, {"status", "deprecated", "v1beta1", "conditions"}} {
		list, _, _ := unstructured.NestedSlice(object.Object, path...)
		for _, condition := range list {
			if fields, ok := condition.(map[string]any); ok {
				types = append(types, fmt.Sprintf("%s %s", strings.Join(path, "."), fields["type"]))
			}
		}
	}
	slices.Sort(types)
	return types
}
