// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

const (
	// A domain counts as lost and as recovered sooner than in production, where a mistake has a cost.
	graceSeconds = 2
	holdSeconds  = 5
	topology     = "topology"
)

// templates returns the files of the cluster: its ClusterClass, if it has one, before the cluster.
func (d *demo) templates() []string {
	name := d.about.Template(d.options.Flavor)
	names := []string{name}
	if d.options.Flavor == topology {
		names = []string{"clusterclass-faultline-" + d.about.Name + ".yaml", name}
	}
	for i := range names {
		names[i] = filepath.Join(d.builder.Root, "templates", d.about.Name, names[i])
	}
	return names
}

// flavorsOf returns the flavors of a provider's cluster template over failure domains, beginning with the default one, "". The demo runs
// no other control planes than kubeadm's, and simulates several infrastructures only for a scenario that needs them.
func flavorsOf(root string, about provider.Description) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(root, "templates", about.Name, "*.yaml"))
	if err != nil {
		return nil, err
	}
	flavors := make([]string, 0, len(files))
	for _, file := range files {
		flavor, ok := about.FlavorOf(filepath.Base(file))
		if !ok || flavor != "" && flavor == about.Several {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if flavor == topology || bytes.Contains(content, []byte("kind: KubeadmControlPlane")) {
			flavors = append(flavors, flavor)
		}
	}
	slices.Sort(flavors)
	return flavors, nil
}

// apply creates the objects of the templates, with variables substituted as clusterctl does.
func (d *demo) apply(ctx context.Context) error {
	host, port, err := d.workload.Endpoint(d.cluster.Namespace, d.cluster.Name)
	if err != nil {
		return fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	variables := map[string]string{
		"CLUSTER_NAME":                 d.cluster.Name,
		"NAMESPACE":                    d.cluster.Namespace,
		"KUBERNETES_VERSION":           binaries.KubernetesVersion,
		"CONTROL_PLANE_ENDPOINT_IP":    host,
		"CONTROL_PLANE_ENDPOINT_PORT":  strconv.Itoa(port),
		"FAILURE_DOMAIN_GRACE_SECONDS": strconv.Itoa(graceSeconds),
		"FAILURE_DOMAIN_HOLD_SECONDS":  strconv.Itoa(holdSeconds),
	}
	maps.Copy(variables, d.setup.Variables)
	for _, file := range d.templates() {
		objects, err := fill(file, variables)
		if err != nil {
			return err
		}
		if objects, err = d.prepare(objects); err != nil {
			return err
		}
		for _, object := range objects {
			if err := d.management.Client.Create(ctx, object); err != nil {
				return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			d.objects = append(d.objects, object)
		}
		d.reporter.Note(fmt.Sprintf("%d objects of %s", len(objects), filepath.Base(file)))
	}
	return nil
}

// fill reads a template and substitutes variables.
func fill(file string, variables map[string]string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a template: %w", err)
	}
	objects, err := managementcluster.Fill(content, variables)
	if err != nil {
		return nil, fmt.Errorf("filling in %s: %w", file, err)
	}
	return objects, nil
}
