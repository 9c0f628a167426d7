// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

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
		names[i] = filepath.Join(d.Root, "templates", d.about.Name, names[i])
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
	for _, file := range d.templates() {
		objects, err := d.Fill(file, d.cluster, map[string]string{
			"FAILURE_DOMAIN_GRACE_SECONDS": strconv.Itoa(graceSeconds), "FAILURE_DOMAIN_HOLD_SECONDS": strconv.Itoa(holdSeconds),
		})
		if err != nil {
			return err
		}
		if objects, err = d.prepare(objects); err != nil {
			return err
		}
		for _, object := range objects {
			if err := d.Management.Client.Create(ctx, object); err != nil {
				return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
			}
			d.objects = append(d.objects, object)
		}
		d.reporter.note(fmt.Sprintf("%d objects of %s", len(objects), filepath.Base(file)))
	}
	return nil
}
