// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"archive/tar"
	"compress/gzip"
	"io"
)

// Member returns the content of the first file with a name in a compressed archive; io.EOF if there is none.
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
