// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

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

	objects []*unstructured.Unstructured
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
	i.Assets = builder.Dir()
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return nil, err
	}
	if i.objects, err = p.Objects(); err != nil {
		return nil, err
	}
	crds := envtest.CRDInstallOptions{ErrorIfPathMissing: true}
	for _, folder := range []string{binaries.CAPICoreFolder(version), filepath.Join("controlplane", "kubeadm")} {
		crds.Paths = append(crds.Paths, filepath.Join(source, folder, "config", "crd", "bases"))
	}
	if err := envtest.ReadCRDFiles(&crds); err != nil {
		return nil, fmt.Errorf("reading the CRDs of Cluster API: %w", err)
	}
	clusterAPI, err := managementcluster.Untyped(crds.CRDs)
	i.objects = append(i.objects, clusterAPI...)
	return i, err
}

// Component returns the provider's manager with its third-party objects and the CRDs of Cluster API, whose managers are not installed.
func (i *Installation) Component() managementcluster.Component {
	about := i.Provider.Describe()
	component := managementcluster.Provider(i.Programs, i.Root, about.Name)
	component.Objects = i.objects
	if i.Other != nil {
		component.Program, component.Config = i.Other.Program, i.Other.Release
	}
	maps.Copy(component.Variables, about.Unset)
	return component
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
