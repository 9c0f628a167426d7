// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package charts reads the Helm charts of the repository and packs them for a release.
package charts

import (
	"bytes"
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
	// LoadBalancer is for Harvester itself.
	LoadBalancer = binaries.LoadBalancer
	// CloudProvider is for clusters on Harvester.
	CloudProvider = binaries.CloudProvider
)

// folder is where the charts are, from the root of the repository.
const folder = "providers/harvester/charts"

// Names returns the names of all charts. The program that a chart runs has its name.
func Names() []string { return []string{LoadBalancer, CloudProvider} }

// Of returns the names of the charts of a provider.
func Of(provider string) []string {
	if filepath.Join("providers", provider, "charts") == filepath.FromSlash(folder) {
		return Names()
	}
	return nil
}

// Image is the image that a chart names for its program.
func Image(root, name string) (string, error) {
	c, err := Load(root, name, "")
	if err != nil {
		return "", err
	}
	repository := repository(c)
	if repository == "" {
		return "", fmt.Errorf("chart %s has no image.repository", name)
	}
	return repository + ":" + c.Metadata.AppVersion, nil
}

// repository is where the image of a chart is, without its tag.
func repository(c *chart.Chart) string {
	values, _ := c.Values["image"].(map[string]any)
	repository, _ := values["repository"].(string)
	return repository
}

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

// Pack writes a chart of a release into a folder and returns the file.
func Pack(root, name string, release docker.Release, into string) (string, error) {
	c, err := Load(root, name, release.Version)
	if err != nil {
		return "", err
	}
	// The tag is the version of the chart. What is packed is the text of the values.
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
