// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
)

const (
	namespace = "cert-manager"
	// imagePrefix precedes the name of a part; it is the chart's default.
	imagePrefix = "quay.io/jetstack/cert-manager-"
	// unfinished is the name of the chart file before a release.
	unfinished = "Chart.template.yaml"
)

// CertManagerImage returns the image of a part of cert-manager, as in the manifest.
func CertManagerImage(part, version string) string { return imagePrefix + part + ":" + version }

// CertManagerEntrypoint returns the path of a part's program in its image.
func CertManagerEntrypoint(part string) string { return path.Join("/app/cmd", part, part) }

// CertManagerManifest renders the chart of cert-manager's module with its CRDs, as a release does.
func CertManagerManifest(source, version, kubernetes string) ([]byte, error) {
	loaded, err := load(source, version)
	if err != nil {
		return nil, fmt.Errorf("reading the chart of cert-manager: %w", err)
	}
	rendered, err := render(loaded, kubernetes)
	if err != nil {
		return nil, fmt.Errorf("rendering the chart of cert-manager: %w", err)
	}
	return join(rendered), nil
}

func render(c *chart.Chart, kubernetes string) (map[string]string, error) {
	parsed, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *parsed
	values, err := chartutil.ToRenderValues(c, map[string]any{
		"installCRDs": true,
		"creator":     "static", // Not helm: clusterctl manages it.
		// A hook of helm that nothing would run; clusterctl does its own check.
		"startupapicheck": map[string]any{"enabled": false},
	}, chartutil.ReleaseOptions{Name: namespace, Namespace: namespace, IsInstall: true, Revision: 1}, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, values)
}

// load returns the chart as a release packs it: with its version, and with the CRDs, which are in another folder, as an additional
// template.
func load(source, version string) (*chart.Chart, error) {
	root := os.DirFS(filepath.Join(source, "deploy", "charts", "cert-manager"))
	var files []*loader.BufferedFile
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		if name == unfinished {
			name, content = "Chart.yaml", withVersion(content, version)
		}
		files = append(files, &loader.BufferedFile{Name: name, Data: content})
		return err
	})
	if err != nil {
		return nil, err
	}
	crds, err := definitions(filepath.Join(source, "deploy", "crds"))
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(append(files, &loader.BufferedFile{Name: "templates/crds.yaml", Data: crds}))
}

// definitions joins the CRDs into one template.
func definitions(folder string) ([]byte, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "crd-*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("no CRDs found in %s", folder)
	}
	var out bytes.Buffer
	for _, p := range paths {
		content, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(&out, "---\n%s\n", content)
	}
	return out.Bytes(), nil
}

// withVersion sets the version of an unreleased chart.
func withVersion(description []byte, version string) []byte {
	return regexp.MustCompile(`(?m)^(version|appVersion):.*$`).ReplaceAll(description, []byte("$1: "+version))
}

// join writes the rendered files as one manifest, in a fixed order.
func join(rendered map[string]string) []byte {
	var out bytes.Buffer
	_, _ = fmt.Fprintf(&out, "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", namespace)
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if content := strings.TrimSpace(rendered[name]); strings.HasSuffix(name, ".yaml") && content != "" {
			_, _ = fmt.Fprintf(&out, "---\n%s\n", strings.TrimPrefix(content, "---\n"))
		}
	}
	return out.Bytes()
}
