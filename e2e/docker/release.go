// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"strings"
)

// published is the registry of the images in the sources.
const published = "docker.io/faultline/"

// Release names the images of a release. The zero value keeps the names in the sources.
type Release struct {
	// Version is the tag of every image of ours, such as v2.0.1.
	Version string
	// Registry is the registry of the images, such as registry.example.com/team. It defaults to docker.io/faultline.
	Registry string
}

// Name returns the name of an image in the release. Third-party images keep their names, and a name without a tag gets none.
func (r Release) Name(image string) string {
	name, ours := strings.CutPrefix(image, published)
	if !ours {
		return image
	}
	name, tag, tagged := strings.Cut(name, ":")
	name = strings.TrimSuffix(cmp.Or(r.Registry, published), "/") + "/" + name
	if !tagged {
		return name
	}
	return name + ":" + cmp.Or(r.Version, tag)
}
