// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Types of providers in clusterctl.
const (
	Core           = "CoreProvider"
	Bootstrap      = "BootstrapProvider"
	ControlPlane   = "ControlPlaneProvider"
	Infrastructure = "InfrastructureProvider"
)

const configFile = "clusterctl.yaml"

// Provider is a provider that clusterctl may install.
type Provider struct {
	Name    string
	Type    string
	Version string
	// Config is the kustomize folder of its components.
	Config string
	// Metadata is the path of its metadata.yaml.
	Metadata string
	// Templates is the folder with cluster templates and ClusterClasses, "" if there are none.
	Templates string
	// FitTemplate adapts a template to this repository; nil leaves templates unchanged.
	FitTemplate func([]byte) ([]byte, error)
	// NameTemplate returns the name of a template in this repository, "" to omit it; nil keeps names.
	NameTemplate func(file string) string
}

// CertManager is the manifest of cert-manager.
type CertManager struct {
	Version  string
	Manifest []byte
}

// Repository is a folder that clusterctl installs from.
type Repository struct {
	Dir string
	// CAPIImages completes the names of Cluster API's images, which its kustomize folders do not specify.
	CAPIImages string
	// Variables of cluster templates and components.
	Variables map[string]string
}

// Config returns the path of the configuration for clusterctl.
func (r Repository) Config() string { return filepath.Join(r.Dir, configFile) }

// Write writes the whole repository. It keeps existing versions and providers that are not named: they may be installed, and clusterctl
// looks for every installed provider. Without a cert-manager clusterctl downloads one.
func (r Repository) Write(providers []Provider, certManager *CertManager) error {
	for _, p := range providers {
		if err := r.provider(p); err != nil {
			return fmt.Errorf("writing %s %s: %w", p.Label(), p.Version, err)
		}
	}
	if certManager != nil {
		if err := r.file("cert-manager", certManager.Version, "cert-manager.yaml", certManager.Manifest); err != nil {
			return fmt.Errorf("writing cert-manager %s: %w", certManager.Version, err)
		}
	}
	config, err := r.config(providers, certManager)
	if err != nil {
		return fmt.Errorf("writing the configuration of clusterctl: %w", err)
	}
	return os.WriteFile(r.Config(), config, 0o644)
}

// Role returns the type of a provider as clusterctl writes it in flags and file names.
func (p Provider) Role() string {
	return map[string]string{Core: "core", Bootstrap: "bootstrap", ControlPlane: "control-plane", Infrastructure: "infrastructure"}[p.Type]
}

// Label returns the folder of a provider, which is also a label on the objects that clusterctl installs.
func (p Provider) Label() string { return strings.TrimPrefix(p.Role()+"-"+p.Name, "core-") }

// components returns the name of the file that clusterctl applies.
func (p Provider) components() string { return p.Role() + "-components.yaml" }

func (r Repository) provider(p Provider) error {
	components, err := Components(p.Config)
	if err != nil {
		return err
	}
	if err := r.file(p.Label(), p.Version, p.components(), released(components, r.CAPIImages)); err != nil {
		return err
	}
	metadata, err := os.ReadFile(p.Metadata)
	if err != nil {
		return err
	}
	if err := r.file(p.Label(), p.Version, filepath.Base(p.Metadata), metadata); err != nil {
		return err
	}
	if p.Templates == "" {
		return nil
	}
	return r.templates(p)
}

func (r Repository) templates(p Provider) error {
	paths, err := filepath.Glob(filepath.Join(p.Templates, "*.yaml"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if p.NameTemplate != nil {
			name = p.NameTemplate(name)
		}
		if name == "" {
			continue
		}
		content, err := os.ReadFile(path)
		if err == nil && p.FitTemplate != nil {
			content, err = p.FitTemplate(content)
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if err := r.file(p.Label(), p.Version, name, content); err != nil {
			return err
		}
	}
	return nil
}

func (r Repository) file(label, version, name string, content []byte) error {
	folder := filepath.Join(r.Dir, label, version)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name), content, 0o644)
}

// entry is a provider in clusterctl's configuration.
type entry struct {
	Name string `json:"name"`
	Type string `json:"type"`
	URL  string `json:"url"`
}

// entries returns the entries of the providers, and of those that were already in the configuration.
func (r Repository) entries(providers []Provider) ([]entry, error) {
	var entries []entry
	for _, p := range providers {
		entries = append(entries, entry{p.Name, p.Type, filepath.Join(r.Dir, p.Label(), p.Version, p.components())})
	}
	var before struct {
		Providers []entry `json:"providers"`
	}
	content, err := os.ReadFile(r.Config())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := yaml.Unmarshal(content, &before); err != nil {
		return nil, err
	}
	for _, old := range before.Providers {
		if !slices.ContainsFunc(entries, func(e entry) bool { return e.Name == old.Name && e.Type == old.Type }) {
			entries = append(entries, old)
		}
	}
	return entries, nil
}

// config returns a configuration that makes clusterctl use only the repository, except for a cert-manager that is not in it.
func (r Repository) config(providers []Provider, certManager *CertManager) ([]byte, error) {
	entries, err := r.entries(providers)
	if err != nil {
		return nil, err
	}
	config := map[string]any{
		"providers": entries,
		// Feature gates of Cluster API, for ClusterClasses and for taints of machines.
		"CLUSTER_TOPOLOGY":              "true",
		"EXP_MACHINE_TAINT_PROPAGATION": "true",
		// Ignores the user's own configuration.
		"overridesFolder": filepath.Join(r.Dir, "overrides"),
	}
	if certManager != nil {
		config["cert-manager"] = map[string]string{
			"url":     filepath.Join(r.Dir, "cert-manager", certManager.Version, "cert-manager.yaml"),
			"version": certManager.Version,
			"timeout": "5m",
		}
	}
	for name, value := range r.Variables {
		config[name] = value
	}
	return yaml.Marshal(config)
}
