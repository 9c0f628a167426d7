// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// Installation holds a provider's programs and manifests for running it without Cluster API's controllers: its real program against a
// real API server with Cluster API's CRDs. Benchmarks and chaos tests create the objects of those controllers, so that only the provider
// acts on them. It can be used for any number of management clusters.
type Installation struct {
	Provider Provider
	Programs binaries.Paths
	// Assets is the folder with the programs of the provider's simulation.
	Assets string
	// Root is the root folder of the repository.
	Root string
	// Other, unless nil, runs instead of our manager.
	Other *OtherManager

	// core and controlPlane are source folders of Cluster API.
	core, controlPlane string
	objects            []*unstructured.Unstructured
}

// OtherManager is a third-party manager for a provider's kinds.
type OtherManager struct {
	// Program takes the same arguments as ours: a program that does not needs a script that translates them.
	Program string
	// Release is the kustomize folder of its release.
	Release string
}

// Install builds the programs that are missing or outdated.
func Install(ctx context.Context, p Provider, progress io.Writer) (*Installation, error) {
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	about := p.Describe()
	i := &Installation{Provider: p, Root: builder.Root}
	i.Programs, err = builder.Ensure(ctx, append(about.Programs, binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.Provider(about.Name))...)
	if err != nil {
		return nil, err
	}
	i.Assets = builder.AssetsDir()
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return nil, err
	}
	i.core, i.controlPlane = filepath.Join(source, binaries.CAPICoreFolder(version)), filepath.Join(source, "controlplane", "kubeadm")
	i.objects, err = p.Objects()
	return i, err
}

// Component returns the provider's manager with its third-party objects. It writes the manifests to a folder.
func (i *Installation) Component(programs binaries.Paths, folder string) (managementcluster.Component, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return managementcluster.Component{}, err
	}
	if err := i.writeConfig(folder); err != nil {
		return managementcluster.Component{}, fmt.Errorf("preparing the manager's manifests: %w", err)
	}
	component := managementcluster.Provider(programs, i.Root, i.Provider.Describe().Name)
	component.Config, component.Objects = folder, i.objects
	if i.Other != nil {
		component.Program = i.Other.Program
	}
	maps.Copy(component.Variables, i.Provider.Describe().Unset)
	return component, nil
}

// writeConfig writes a kustomize folder with the provider's release and the CRDs of Cluster API, because Cluster API's managers are not
// installed.
func (i *Installation) writeConfig(dir string) error {
	release := filepath.Join(i.Root, "providers", i.Provider.Describe().Name, "config", "default")
	if i.Other != nil {
		release = i.Other.Release
	}
	release, err := filepath.Rel(dir, release)
	if err != nil {
		return err
	}
	crds, err := i.crds()
	if err != nil {
		return err
	}
	var kustomization strings.Builder
	fmt.Fprintf(&kustomization, "resources:\n  - %s\n", filepath.ToSlash(release))
	for _, crd := range crds {
		content, err := os.ReadFile(crd)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(crd)), content, 0o600); err != nil {
			return err
		}
		fmt.Fprintf(&kustomization, "  - %s\n", filepath.Base(crd))
	}
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(kustomization.String()), 0o600)
}

// crds returns the files with Cluster API's CRDs, including those of its control planes.
func (i *Installation) crds() ([]string, error) {
	var files []string
	for _, of := range []string{i.core, i.controlPlane} {
		found, err := filepath.Glob(filepath.Join(of, "config", "crd", "bases", "*.yaml"))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("finding the CRDs of Cluster API in %s: %d found (%w)", of, len(found), err)
		}
		files = append(files, found...)
	}
	return files, nil
}

// Connect returns a client whose scheme has the kinds of a provider and of Cluster API.
func Connect(of Provider, config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme), of.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the API server: %w", err)
	}
	return c, nil
}
