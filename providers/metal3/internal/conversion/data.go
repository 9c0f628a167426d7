// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"
	"slices"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func dataToHub(src *v1beta1.Metal3Data, dst *infrav1.Metal3Data) {
	dst.Spec = infrav1.Metal3DataSpec{
		Index: src.Spec.Index, MetaData: src.Spec.MetaData, NetworkData: src.Spec.NetworkData, Claim: src.Spec.Claim, Template: src.Spec.Template,
	}
	dst.Status = infrav1.Metal3DataStatus{Ready: src.Status.Ready, ErrorMessage: src.Status.ErrorMessage}
}

func dataFromHub(src *infrav1.Metal3Data, dst *v1beta1.Metal3Data) {
	dst.Spec = v1beta1.Metal3DataSpec{
		Index: src.Spec.Index, MetaData: src.Spec.MetaData, NetworkData: src.Spec.NetworkData, Claim: src.Spec.Claim, Template: src.Spec.Template,
	}
	dst.Status = v1beta1.Metal3DataStatus{Ready: src.Status.Ready, ErrorMessage: src.Status.ErrorMessage}
}

func dataClaimToHub(src *v1beta1.Metal3DataClaim, dst *infrav1.Metal3DataClaim) {
	dst.Spec = infrav1.Metal3DataClaimSpec(src.Spec)
	dst.Status = infrav1.Metal3DataClaimStatus(src.Status)
}

func dataClaimFromHub(src *infrav1.Metal3DataClaim, dst *v1beta1.Metal3DataClaim) {
	dst.Spec = v1beta1.Metal3DataClaimSpec(src.Spec)
	dst.Status = v1beta1.Metal3DataClaimStatus(src.Status)
}

func dataTemplateToHub(src *v1beta1.Metal3DataTemplate, dst *infrav1.Metal3DataTemplate) {
	dst.Spec = infrav1.Metal3DataTemplateSpec{
		ClusterName: src.Spec.ClusterName, MetaData: metaDataToHub(src.Spec.MetaData), NetworkData: networkDataToHub(src.Spec.NetworkData),
	}
	dst.Status = infrav1.Metal3DataTemplateStatus{Indexes: indexesToHub(src.Status.Indexes), LastUpdated: src.Status.LastUpdated}
}

func dataTemplateFromHub(src *infrav1.Metal3DataTemplate, dst *v1beta1.Metal3DataTemplate) {
	dst.Spec = v1beta1.Metal3DataTemplateSpec{
		ClusterName: src.Spec.ClusterName, MetaData: metaDataFromHub(src.Spec.MetaData), NetworkData: networkDataFromHub(src.Spec.NetworkData),
	}
	dst.Status = v1beta1.Metal3DataTemplateStatus{Indexes: indexesFromHub(src.Status.Indexes), LastUpdated: src.Status.LastUpdated}
}

// indexesToHub sorts by index, so that the result is deterministic.
func indexesToHub(src map[string]int32) []infrav1.IndexEntry {
	var dst []infrav1.IndexEntry
	for name, index := range src {
		dst = append(dst, infrav1.IndexEntry{Name: name, Index: index})
	}
	slices.SortFunc(dst, func(a, b infrav1.IndexEntry) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), cmp.Compare(a.Name, b.Name))
	})
	return dst
}

func indexesFromHub(src []infrav1.IndexEntry) map[string]int32 {
	if len(src) == 0 {
		return nil
	}
	dst := map[string]int32{}
	for _, entry := range src {
		dst[entry.Name] = entry.Index
	}
	return dst
}
