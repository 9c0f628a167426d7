// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"os"
	"slices"
	"testing"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"
)

// Series are release series of the upstream provider. clusterctl uses them to offer an upgrade from upstream.
type Series struct {
	Major int32
	// Minors is the number of minor versions, starting with First.
	First, Minors int32
	// V1Beta2 is the first minor version for Cluster API's contract v1beta2; earlier ones are for v1beta1.
	V1Beta2 int32
}

// CheckMetadata fails the test unless metadata.yaml contains these upstream series, no others of their major version, and 2.0.
func CheckMetadata(t *testing.T, upstream Series) {
	t.Helper()
	data, err := os.ReadFile("metadata.yaml")
	if err != nil {
		t.Fatal(err)
	}
	metadata := &clusterctlv1.Metadata{}
	if err := yaml.UnmarshalStrict(data, metadata); err != nil {
		t.Fatal(err)
	}
	want := []clusterctlv1.ReleaseSeries{{Major: 2, Minor: 0, Contract: "v1beta2"}}
	for minor := upstream.First; minor < upstream.First+upstream.Minors; minor++ {
		contract := "v1beta1"
		if minor >= upstream.V1Beta2 {
			contract = "v1beta2"
		}
		want = append(want, clusterctlv1.ReleaseSeries{Major: upstream.Major, Minor: minor, Contract: contract})
	}
	for _, series := range want {
		if !slices.Contains(metadata.ReleaseSeries, series) {
			t.Errorf("metadata.yaml lacks %s", describe(series))
		}
	}
	for _, series := range metadata.ReleaseSeries {
		if series.Major == upstream.Major && !slices.Contains(want, series) {
			t.Errorf("metadata.yaml has %s, which there is not", describe(series))
		}
	}
}

func describe(s clusterctlv1.ReleaseSeries) string {
	return fmt.Sprintf("%d.%d for %s", s.Major, s.Minor, s.Contract)
}
