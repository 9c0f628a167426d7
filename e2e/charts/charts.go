// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts reads the Helm charts of the repository and packs them for a release.
package charts

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
)

// Names of the charts.
const (
	// LoadBalancer is the chart for Harvester itself.
	LoadBalancer = binaries.LoadBalancer
	// CloudProvider is the chart for clusters on Harvester.
	CloudProvider = binaries.CloudProvider
)

// folder is the path of the charts in the repository.
const folder = "providers/harvester/charts"

// Names returns the names of all charts. Each is also the name of the program that the chart runs.
func Names() []string { return []string{LoadBalancer, CloudProvider} }

// Of returns the names of a provider's charts.
func Of(provider string) []string {
	if filepath.Join("providers", provider, "charts") == filepath.FromSlash(folder) {
		return Names()
	}
	return nil
}

// Image returns the image of a chart's program.
func Image(root, name string) (string, error) {
	images, err := Images(root, name, docker.Release{})
	if err != nil {
		return "", err
	}
	return images[0], nil
}

// Images returns the images that a chart of a release runs: that of its program, and those of its subcharts.
func Images(root, name string, release docker.Release) ([]string, error) {
	c, err := Load(root, name, release.Version)
	if err != nil {
		return nil, err
	}
	var images []string
	for _, c := range append([]*chart.Chart{c}, c.Dependencies()...) {
		repository := repository(c)
		if repository == "" {
			return nil, fmt.Errorf("chart %s has no image.repository", c.Name())
		}
		values, _ := c.Values["image"].(map[string]any)
		tag, _ := values["tag"].(string)
		images = append(images, release.Name(repository+":"+cmp.Or(tag, c.Metadata.AppVersion)))
	}
	return images, nil
}

// repository returns the image repository of a chart, without a tag.
func repository(c *chart.Chart) string {
	values, _ := c.Values["image"].(map[string]any)
	repository, _ := values["repository"].(string)
	return repository
}

// Load reads a chart and sets its version and image tag for a release. Without a version it returns the chart as stored in the
// repository.
func Load(root, name, version string) (*chart.Chart, error) {
	c, err := loader.LoadDir(filepath.Join(root, folder, name))
	if err != nil {
		return nil, fmt.Errorf("reading chart %s: %w", name, err)
	}
	if version != "" {
		// Charts use semantic versions, images use tags.
		c.Metadata.Version, c.Metadata.AppVersion = strings.TrimPrefix(version, "v"), version
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("chart %s in version %s: %w", name, version, err)
	}
	return c, nil
}

// Pack writes the chart of a release into a folder and returns the file.
func Pack(root, name string, release docker.Release, into string) (string, error) {
	c, err := Load(root, name, release.Version)
	if err != nil {
		return "", err
	}
	// The chart's version is also the image tag. Only the raw text of the values is packed.
	repository := repository(c)
	for _, file := range c.Raw {
		if file.Name == chartutil.ValuesfileName {
			file.Data = bytes.ReplaceAll(file.Data, []byte(repository), []byte(release.Name(repository)))
		}
	}
	file, err := chartutil.Save(c, into)
	if err != nil {
		return "", fmt.Errorf("packing chart %s: %w", name, err)
	}
	return file, nil
}
