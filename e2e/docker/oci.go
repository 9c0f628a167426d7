// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// ManagerPath is the path of a manager in its image.
const ManagerPath = "/manager"

// WriteOCI writes images of one name, by architecture, as an OCI archive with an index. It needs no Docker, and the same files result in the
// same archive.
func WriteOCI(file string, images map[string]Image) error {
	index, name, err := indexOf(images)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp(filepath.Dir(file), ".oci-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return fmt.Errorf("writing image %s: %w", name, err)
	}
	// containerd names an imported image by the first annotation, skopeo by the second.
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name[strings.LastIndexByte(name, ':')+1:],
	}))
	if err != nil {
		return fmt.Errorf("writing image %s: %w", name, err)
	}
	return archiveFolder(folder, file)
}

// indexOf returns the index of images by architecture, and their name.
func indexOf(images map[string]Image) (index v1.ImageIndex, name string, err error) {
	index = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		image, wanted := images[arch]
		if !wanted {
			continue
		}
		platform := v1.Platform{OS: "linux", Architecture: arch}
		built, err := image.oci(platform)
		if err != nil {
			return nil, "", fmt.Errorf("building image %s for %s: %w", image.Name, arch, err)
		}
		name = image.Name
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	if name == "" {
		return nil, "", fmt.Errorf("no image for amd64 or arm64")
	}
	return index, name, nil
}

// oci returns the image for a platform.
func (i Image) oci(platform v1.Platform) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { _ = writer.CloseWithError(Archive(writer, i.Files)) }()
		return reader, nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Config = v1.Config{Entrypoint: []string{i.Entrypoint}, User: i.User, WorkingDir: "/"}
	return mutate.ConfigFile(image, config)
}

// archiveFolder writes the files of a folder as a tar file.
func archiveFolder(folder, file string) (err error) {
	var files []File
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files = append(files, File{Path: filepath.ToSlash(name), From: path})
		return err
	})
	if err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := Archive(out, files); err != nil {
		_ = out.Close()
		return err
	}
	return out.Close()
}
