// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"cmp"
	"strings"
)

// published is where the images that the sources name are.
const published = "docker.io/faultline/"

// Release names the images of a release. The zero value has the names of the sources.
type Release struct {
	// Version is the tag of every image of ours, such as v2.0.1.
	Version string
	// Registry is where they are, such as registry.example.com/team. It is docker.io/faultline unless it is set.
	Registry string
}

// Name returns the name that an image of the sources has in the release. Images of others keep theirs, and a name without a tag gets none.
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
