// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Components holds the objects that clusterctl installs for a provider.
type Components struct {
	Objects []*unstructured.Unstructured
	// Manager is the Deployment of the manager.
	Manager *appsv1.Deployment
}

// variable matches a variable that clusterctl substitutes, with its default.
var variable = regexp.MustCompile(`\$\{(\w+):=([^}]*)\}`)

// Render builds the components from the folder of a provider's manifests, with the given values of variables and the defaults of
// the others.
func Render(ctx context.Context, config string, variables map[string]string) (*Components, error) {
	assets, err := Assets("")
	if err != nil {
		return nil, err
	}
	kubectl := filepath.Join(assets, "kubectl")
	data, err := exec.CommandContext(ctx, kubectl, "kustomize", filepath.Join(config, "default")).Output()
	if err != nil {
		return nil, fmt.Errorf("rendering %s with %s: %w", config, kubectl, withOutput(err))
	}
	data = variable.ReplaceAllFunc(data, func(use []byte) []byte {
		parts := variable.FindSubmatch(use)
		if value, ok := variables[string(parts[1])]; ok {
			return []byte(value)
		}
		return parts[2]
	})
	c := &Components{}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading what is rendered of %s: %w", config, err)
		}
		c.Objects = append(c.Objects, object)
	}
	deployments := c.kinds("Deployment")
	if len(deployments) != 1 {
		return nil, fmt.Errorf("%s has %d Deployments, not one", config, len(deployments))
	}
	c.Manager = &appsv1.Deployment{}
	return c, runtime.DefaultUnstructuredConverter.FromUnstructured(deployments[0].Object, c.Manager)
}

// withOutput adds a command's error output to its error.
func withOutput(err error) error {
	if exit := (&exec.ExitError{}); errors.As(err, &exit) {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}

func (c *Components) kinds(kinds ...string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range c.Objects {
		if slices.Contains(kinds, object.GetKind()) {
			found = append(found, object)
		}
	}
	return found
}

// Args returns the arguments of the manager.
func (c *Components) Args() []string { return c.Manager.Spec.Template.Spec.Containers[0].Args }

// user returns the user name of the manager's ServiceAccount.
func (c *Components) user() string {
	return "system:serviceaccount:" + c.Manager.Namespace + ":" + c.Manager.Spec.Template.Spec.ServiceAccountName
}

// InstallRights creates the namespace and only the RBAC objects of the manager.
func (c *Components) InstallRights(t *testing.T, api client.Client) {
	t.Helper()
	roles, err := c.clusterRoles()
	if err != nil {
		t.Fatal(err)
	}
	objects := roles
	for _, object := range c.kinds("Namespace", "ServiceAccount", "ClusterRoleBinding", "Role", "RoleBinding") {
		objects = append(objects, object)
	}
	// A namespace must exist before its objects.
	slices.SortStableFunc(objects, func(a, b client.Object) int { return len(a.GetNamespace()) - len(b.GetNamespace()) })
	for _, object := range objects {
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatalf("installing %s: %v", object.GetName(), err)
		}
	}
}

// clusterRoles returns the ClusterRoles. Aggregated ones get the rules of the others here, because no Kubernetes controller runs
// that would do this.
func (c *Components) clusterRoles() ([]client.Object, error) {
	var roles []*rbacv1.ClusterRole
	for _, object := range c.kinds("ClusterRole") {
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role); err != nil {
			return nil, fmt.Errorf("reading ClusterRole %s: %w", object.GetName(), err)
		}
		roles = append(roles, role)
	}
	objects := make([]client.Object, 0, len(roles))
	for _, role := range roles {
		if role.AggregationRule != nil {
			if err := aggregate(role, roles); err != nil {
				return nil, err
			}
		}
		objects = append(objects, role)
	}
	return objects, nil
}

func aggregate(role *rbacv1.ClusterRole, from []*rbacv1.ClusterRole) error {
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return fmt.Errorf("reading the selector of ClusterRole %s: %w", role.Name, err)
		}
		for _, other := range from {
			if other != role && selector.Matches(labels.Set(other.Labels)) {
				role.Rules = append(role.Rules, other.Rules...)
			}
		}
	}
	return nil
}
