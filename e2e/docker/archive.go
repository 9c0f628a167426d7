// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package docker

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// File is one entry of an image, owned by root.
type File struct {
	Path string // in the image
	// Content is the content of the file, unless From is the path of a local file with the content, or Link is the target of a symbolic
	// link.
	Content []byte
	From    string
	Link    string
	Mode    fs.FileMode // defaults to 0644; with fs.ModeDir it is a folder
}

// open returns the content of a regular file and its size.
func (f File) open() (io.ReadCloser, int64, error) {
	if f.From == "" {
		return io.NopCloser(bytes.NewReader(f.Content)), int64(len(f.Content)), nil
	}
	file, err := os.Open(f.From)
	if err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// header returns the same header for the same file at any time, so that images are reproducible.
func (f File) header(size int64) *tar.Header {
	mode := f.Mode
	if mode == 0 {
		mode = 0o644
	}
	h := &tar.Header{
		Name: strings.TrimPrefix(path.Clean(f.Path), "/"), Mode: int64(mode.Perm()), Size: size,
		Typeflag: tar.TypeReg, ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
	}
	if mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	switch {
	case mode.IsDir():
		h.Typeflag, h.Name, h.Size = tar.TypeDir, h.Name+"/", 0
	case f.Link != "":
		h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, f.Link, 0
	}
	return h
}

// Archive writes the files as a tar stream.
func Archive(w io.Writer, files []File) error {
	archive := tar.NewWriter(w)
	for _, f := range files {
		if err := f.write(archive); err != nil {
			return fmt.Errorf("archiving %s: %w", f.Path, err)
		}
	}
	return archive.Close()
}

func (f File) write(archive *tar.Writer) error {
	content, size, err := f.open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	h := f.header(size)
	if err := archive.WriteHeader(h); err != nil || h.Size == 0 {
		return err
	}
	_, err = io.Copy(archive, content)
	return err
}

// SumFiles returns a checksum of files and of words that describe how they are used.
func SumFiles(files []File, words ...string) (string, error) {
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%q\n", words)
	if err := Archive(hash, files); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}
