// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"runtime"
	"strings"

	intoto "github.com/in-toto/attestation/go/v1"
)

const (
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = project + "/blob/main/RELEASE.md#provenance"
)

// provenance returns the in-toto statement, with a SLSA provenance, on files with their checksums, lines as sha256sum writes them. It is not
// signed.
func (r Release) provenance(sums []string) ([]byte, error) {
	type object = map[string]any
	source := object{"uri": "git+" + project}
	switch commit, modified := strings.CutSuffix(r.Commit, "-dirty"); {
	case modified: // No commit has these sources.
		source["name"] = "modified after commit " + commit
	case commit != "":
		source["digest"] = object{string(intoto.AlgorithmGitCommit): commit}
	}
	subjects := make([]object, len(sums))
	for i, line := range sums {
		sum, name, _ := strings.Cut(line, "  ")
		subjects[i] = object{"name": name, "digest": object{string(intoto.AlgorithmSHA256): sum}}
	}
	content, err := json.MarshalIndent(object{
		"_type": intoto.StatementTypeUri, "subject": subjects, "predicateType": provenanceType,
		"predicate": object{
			"buildDefinition": object{
				"buildType":            buildType,
				"externalParameters":   object{"version": r.Version, "registry": r.Registry, "architectures": strings.Join(r.Architectures, ",")},
				"resolvedDependencies": []object{source, {"uri": "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")}},
			},
			"runDetails": object{"builder": object{"id": project + "/blob/main/Makefile"}},
		},
	}, "", "  ")
	return append(content, '\n'), err
}
