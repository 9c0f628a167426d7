// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

const (
	project       = "https://github.com/faultline-io/faultline"
	ourModules    = "github.com/faultline-io/faultline/"
	noAssertion   = "NOASSERTION"
	ourLicense    = "Apache-2.0"
	programPrefix = "kubectl-fd"
)

// writeSBOM writes the SPDX document of a Go program into the folder sbom, from the modules that the linker has recorded in the program.
func (r Release) writeSBOM(name string, program []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("writing the SBOM of %s: %w", name, err)
	}
	document := r.sbom(name, fmt.Sprintf("%x", sha256.Sum256(program)), info)
	folder, err := r.folder("sbom")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := spdxjson.Write(document, &text, spdxjson.Indent("  ")); err != nil {
		return fmt.Errorf("writing the SBOM of %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(folder, name+".spdx.json"), text.Bytes(), 0o644)
}

// sbom returns the SPDX document of a program with a SHA-256.
func (r Release) sbom(name, sum string, info *buildinfo.BuildInfo) *spdx.Document {
	main := modulePackage(info.Path, r.Version)
	main.PackageFileName, main.PrimaryPackagePurpose = name, "APPLICATION"
	main.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: name + " " + r.Version,
		DocumentNamespace: fmt.Sprintf("%s/spdx/%s/%s-%s", project, r.Version, name, sum[:16]),
		CreationInfo: &spdx.CreationInfo{
			Created: r.created().Format(time.RFC3339), Creators: []common.Creator{{CreatorType: "Organization", Creator: "Faultline"}},
		},
		Packages:      []*spdx.Package{main},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", "DESCRIBES", main.PackageSPDXIdentifier)},
	}
	packages := []*spdx.Package{modulePackage("stdlib", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, module := range info.Deps {
		version := module.Version
		if strings.HasPrefix(module.Path, ourModules) {
			version = r.Version // Its version in go.mod is a placeholder.
		} else if module.Replace != nil {
			module, version = module.Replace, module.Replace.Version
		}
		p := modulePackage(module.Path, version)
		p.PackageSourceInfo = module.Sum
		packages = append(packages, p)
	}
	for _, p := range packages {
		document.Packages = append(document.Packages, p)
		document.Relationships = append(document.Relationships, relation(main.PackageSPDXIdentifier, "DEPENDS_ON", p.PackageSPDXIdentifier))
	}
	return document
}

// created returns the time of the release, which is that of its commit, so that the files of a commit are always the same.
func (r Release) created() time.Time { return cmp.Or(r.Created, time.Unix(0, 0)).UTC() }

// modulePackage returns the package of a Go module.
func modulePackage(module, version string) *spdx.Package {
	license, location := noAssertion, noAssertion
	if strings.HasPrefix(module, ourModules) {
		license, location = ourLicense, "git+"+project+"@"+version
	}
	id := regexp.MustCompile(`[^a-zA-Z0-9.]+`).ReplaceAllString(module+"-"+version, "-")
	return &spdx.Package{
		PackageName: module, PackageVersion: version, PackageSPDXIdentifier: common.ElementID("Package-" + id),
		PackageDownloadLocation: location, PackageLicenseConcluded: license, PackageLicenseDeclared: license, PackageCopyrightText: noAssertion,
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL,
			Locator: "pkg:golang/" + module + "@" + strings.ReplaceAll(version, "+", "%2B"),
		}},
	}
}

func relation(from common.ElementID, kind string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: kind,
	}
}

// pluginSBOMs writes the SBOM of the plugin in each archive for krew.
func (r Release) pluginSBOMs() error {
	archives, err := filepath.Glob(filepath.Join(r.Out, "kubectl-fd", r.Version, "*.tar.gz"))
	if err != nil {
		return err
	}
	for _, file := range archives {
		program, err := programIn(file)
		if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if err := r.writeSBOM(strings.TrimSuffix(filepath.Base(file), ".tar.gz"), program); err != nil {
			return err
		}
	}
	return nil
}

// programIn returns the plugin in an archive.
func programIn(file string) ([]byte, error) {
	content, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	plain, err := gzip.NewReader(content)
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err != nil {
			return nil, fmt.Errorf("finding %s: %w", programPrefix, err)
		}
		if strings.TrimSuffix(path.Base(header.Name), ".exe") == programPrefix {
			return io.ReadAll(archive)
		}
	}
}
