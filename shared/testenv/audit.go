// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Audit is the API server's audit log of a manager's requests.
type Audit struct {
	components  *Components
	policy, log string
}

// NewAudit prepares the audit log of the manager in the components.
func NewAudit(t *testing.T, c *Components) *Audit {
	t.Helper()
	folder := t.TempDir()
	a := &Audit{components: c, policy: filepath.Join(folder, "policy.json"), log: filepath.Join(folder, "audit.log")}
	policy := fmt.Sprintf(`{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [{"level": "Metadata", "users": [%q]}]}`, c.user())
	if err := os.WriteFile(a.policy, []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	return a
}

// Configure makes an API server write the log. Use it as Options.Configure.
func (a *Audit) Configure(of *envtest.ControlPlane) {
	of.GetAPIServer().Configure().Set("audit-policy-file", a.policy).Set("audit-log-path", a.log)
}

// right is a permission of a rule: a verb on a resource, such as patch on cluster.x-k8s.io/machines.
type right struct{ verb, group, resource string }

func (r right) String() string {
	return fmt.Sprintf("%s %s", r.verb, strings.TrimPrefix(r.group+"/"+r.resource, "/"))
}

// Unused lists the write permissions of the manager's ClusterRole that it has not used so far, sorted. Read permissions are
// skipped, because the API server and its client choose how a cache reads.
func (a *Audit) Unused(t *testing.T) []string {
	t.Helper()
	used := a.used(t)
	var unused []string
	for r := range a.granted(t) {
		if !slices.Contains([]string{"get", "list", "watch"}, r.verb) && !slices.ContainsFunc(used, func(u right) bool {
			return u.verb == r.verb && u.group == r.group && (u.resource == r.resource || r.resource == rbacv1.ResourceAll)
		}) {
			unused = append(unused, r.String())
		}
	}
	slices.Sort(unused)
	return unused
}

// used lists the permissions that the logged requests needed.
func (a *Audit) used(t *testing.T) []right {
	t.Helper()
	data, err := os.ReadFile(a.log)
	if err != nil {
		t.Fatalf("reading the log of the API server: %v", err)
	}
	used := map[right]struct{}{}
	for line := range bytes.Lines(data) {
		request := struct {
			Verb      string
			ObjectRef struct{ APIGroup, Resource, Subresource string }
		}{}
		if err := json.Unmarshal(line, &request); err != nil {
			continue // The line is still being written.
		}
		resource := request.ObjectRef.Resource
		if sub := request.ObjectRef.Subresource; sub != "" {
			resource += "/" + sub
		}
		used[right{request.Verb, request.ObjectRef.APIGroup, resource}] = struct{}{}
	}
	return slices.Collect(maps.Keys(used))
}

// granted returns the permissions of the generated ClusterRole of the manager. The other roles are the same for all managers.
func (a *Audit) granted(t *testing.T) map[right]struct{} {
	t.Helper()
	granted := map[right]struct{}{}
	for _, object := range a.components.kinds("ClusterRole") {
		if !strings.HasSuffix(object.GetName(), "manager-role") {
			continue
		}
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						granted[right{verb, group, resource}] = struct{}{}
					}
				}
			}
		}
	}
	return granted
}
