// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// defaultRegistry is what an image without a registry in its name comes from.
const defaultRegistry = "docker.io/"

// Components builds a kustomize folder. The names of images are complete: clusterctl
// refuses those that name no registry.
func Components(folder string) ([]byte, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", folder, err)
	}
	components, err := resources.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("building %s: %w", folder, err)
	}
	return WithImages(components, canonical), nil
}

// WithImages returns the components with the names that a function has for their images.
func WithImages(components []byte, name func(image string) string) []byte {
	return imageLines().ReplaceAllFunc(components, func(line []byte) []byte {
		parts := imageLines().FindSubmatch(line)
		return append(bytes.Clone(parts[1]), name(string(parts[2]))...)
	})
}

// Images are the images that components name.
func Images(components []byte) []string {
	var images []string
	for _, parts := range imageLines().FindAllSubmatch(components, -1) {
		images = append(images, string(parts[2]))
	}
	return images
}

// imageLines matches the image of a container.
func imageLines() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\s*(?:- )?image: )(\S+)$`) }

// canonical gives the name of an image its registry, by Docker's rule of what looks
// like one.
func canonical(image string) string {
	first, _, slash := strings.Cut(image, "/")
	if slash && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return image
	}
	return defaultRegistry + image
}

// released turns the names of Cluster API's images between releases into those of a
// release, and looks for an image on the node before it asks a registry.
func released(components []byte, version string) []byte {
	components = regexp.MustCompile(`gcr\.io/k8s-staging-cluster-api/([a-z-]+):\S+`).
		ReplaceAll(components, []byte("registry.k8s.io/cluster-api/$1:"+version))
	return bytes.ReplaceAll(components, []byte("imagePullPolicy: Always"), []byte("imagePullPolicy: IfNotPresent"))
}
