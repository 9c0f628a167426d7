// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts reads the Helm charts of the repository and packs them for a release.
package charts

import (
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

// Names of the charts.
const (
	// LoadBalancer is for Harvester itself.
	LoadBalancer = "harvester-load-balancer"
	// CloudProvider is for clusters on Harvester.
	CloudProvider = "harvester-cloud-provider"
)

// folder is where the charts are, from the root of the repository.
const folder = "providers/harvester/charts"

// Names returns the names of all charts.
func Names() []string { return []string{LoadBalancer, CloudProvider} }

// Load reads a chart as a release has it: made for the images of that version. Without a version it is as it is in the repository.
func Load(root, name, version string) (*chart.Chart, error) {
	c, err := loader.LoadDir(filepath.Join(root, folder, name))
	if err != nil {
		return nil, fmt.Errorf("reading chart %s: %w", name, err)
	}
	if version != "" {
		// Charts have semantic versions, images tags.
		c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(version, "v"), version
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("chart %s in version %s: %w", name, version, err)
	}
	return c, nil
}

// Pack writes a chart of a version into a folder and returns the file.
func Pack(root, name, version, into string) (string, error) {
	c, err := Load(root, name, version)
	if err != nil {
		return "", err
	}
	file, err := chartutil.Save(c, into)
	if err != nil {
		return "", fmt.Errorf("packing chart %s: %w", name, err)
	}
	return file, nil
}
