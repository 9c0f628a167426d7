// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"archive/tar"
	"compress/gzip"
	"io"
)

// Member searches a compressed archive for the first file whose name matches, and returns a reader of its content. It returns io.EOF if no
// name matches.
func Member(archive io.Reader, named func(string) bool) (io.Reader, error) {
	plain, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	for content := tar.NewReader(plain); ; {
		header, err := content.Next()
		if err != nil || named(header.Name) {
			return content, err
		}
	}
}
