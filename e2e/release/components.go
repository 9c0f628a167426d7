// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// defaultRegistry is the registry of images without a registry in their name.
const defaultRegistry = "docker.io/"

// Components builds a kustomize folder. It completes the names of images, because clusterctl refuses names without a registry.
func Components(folder string) ([]byte, error) {
	components, err := managementcluster.Build(folder)
	return WithImages(components, canonical), err
}

// OnlyImage returns the only image in the components of a provider.
func OnlyImage(provider string, components []byte) (string, error) {
	images := Images(components)
	if len(images) != 1 {
		return "", fmt.Errorf("the components of %s must name exactly one image, not %q", provider, images)
	}
	return images[0], nil
}

// WithImages returns the components with each image renamed by a function.
func WithImages(components []byte, name func(image string) string) []byte {
	return imageLines().ReplaceAllFunc(components, func(line []byte) []byte {
		parts := imageLines().FindSubmatch(line)
		return append(bytes.Clone(parts[1]), name(string(parts[2]))...)
	})
}

// withDefaults returns a template with the default of each variable that has one.
func withDefaults(template []byte) []byte {
	return regexp.MustCompile(`\$\{\w+:[=-]"?([^}"]*)"?\}`).ReplaceAll(template, []byte("$1"))
}

// Images returns the images of components. A name with a variable is that of a disk image, not of a container.
func Images(components []byte) []string {
	var images []string
	for _, parts := range imageLines().FindAllSubmatch(components, -1) {
		if !bytes.Contains(parts[2], []byte("${")) {
			images = append(images, string(parts[2]))
		}
	}
	return images
}

// imageLines matches the image of a container.
func imageLines() *regexp.Regexp { return regexp.MustCompile(`(?m)^(\s*(?:- )?image: )(\S+)$`) }

// canonical adds the registry to the name of an image, by Docker's rule for what a registry looks like.
func canonical(image string) string {
	first, _, slash := strings.Cut(image, "/")
	if slash && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return image
	}
	return defaultRegistry + image
}

// released replaces the staging names of Cluster API's images with those of a release, and prefers images on the node to pulling them.
func released(components []byte, version string) []byte {
	components = regexp.MustCompile(`gcr\.io/k8s-staging-cluster-api/([a-z-]+):\S+`).
		ReplaceAll(components, []byte("registry.k8s.io/cluster-api/$1:"+version))
	return bytes.ReplaceAll(components, []byte("imagePullPolicy: Always"), []byte("imagePullPolicy: IfNotPresent"))
}
