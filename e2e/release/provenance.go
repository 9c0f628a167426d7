// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/json"
	"runtime"
	"strings"

	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	provenanceType = "https://slsa.dev/provenance/v1"
	buildType      = project + "/blob/main/RELEASE.md#provenance"
)

// provenance returns the in-toto statement, with a SLSA provenance, on files with their checksums, lines as sha256sum writes them. It is not
// signed.
func (r Release) provenance(sums []string) ([]byte, error) {
	parameters, err := structpb.NewStruct(map[string]any{
		"version": r.Version, "registry": r.Registry, "architectures": strings.Join(r.Architectures, ","),
	})
	if err != nil {
		return nil, err
	}
	source := &intoto.ResourceDescriptor{Uri: "git+" + project}
	switch commit, modified := strings.CutSuffix(r.Commit, "-dirty"); {
	case modified: // No commit has these sources.
		source.Name = "modified after commit " + commit
	case commit != "":
		source.Digest = map[string]string{string(intoto.AlgorithmGitCommit): commit}
	}
	predicate, err := asStruct(&provenance.Provenance{
		BuildDefinition: &provenance.BuildDefinition{
			BuildType: buildType, ExternalParameters: parameters,
			ResolvedDependencies: []*intoto.ResourceDescriptor{source, {Uri: "pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go")}},
		},
		RunDetails: &provenance.RunDetails{Builder: &provenance.Builder{Id: project + "/blob/main/Makefile"}},
	})
	if err != nil {
		return nil, err
	}
	statement := &intoto.Statement{Type: intoto.StatementTypeUri, PredicateType: provenanceType, Predicate: predicate}
	for _, line := range sums {
		sum, name, _ := strings.Cut(line, "  ")
		statement.Subject = append(statement.Subject, &intoto.ResourceDescriptor{Name: name, Digest: map[string]string{string(intoto.AlgorithmSHA256): sum}})
	}
	if err := statement.Validate(); err != nil {
		return nil, err
	}
	content, err := protojson.Marshal(statement)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = json.Indent(&text, content, "", "  ") // protojson varies its spaces on purpose; Indent keeps none of them.
	text.WriteByte('\n')
	return text.Bytes(), err
}

// asStruct converts a message to the type of predicates.
func asStruct(message proto.Message) (*structpb.Struct, error) {
	content, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	converted := &structpb.Struct{}
	return converted, protojson.Unmarshal(content, converted)
}
