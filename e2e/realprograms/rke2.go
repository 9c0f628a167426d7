// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package realprograms

import (
	"errors"
	"path/filepath"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/shared/machines"
)

// RKE2 is upstream's bootstrap and control-plane providers for RKE2.
type RKE2 struct {
	// Programs is the folder with their programs, Release the folder of their sources.
	Programs, Release string
}

// RKE2Of returns the providers that the environment selects.
func RKE2Of(getenv func(string) string) (RKE2, error) {
	r := RKE2{Programs: getenv("FAULTLINE_RKE2"), Release: getenv("FAULTLINE_RKE2_RELEASE")}
	if r.Programs == "" || r.Release == "" {
		return r, errors.New("FAULTLINE_RKE2 and FAULTLINE_RKE2_RELEASE are empty: they must name the folder with the programs of RKE2's providers and the folder of their sources: " +
			"make sets them with RKE2=FOLDER and RKE2_RELEASE=FOLDER")
	}
	return r, nil
}

// AddTo adds the providers. clusterctl did not install them, so its inventory does not have the version of the control-plane provider.
func (r RKE2) AddTo(options *Options) {
	options.Args = append(options.Args, "--rke2-control-plane-version="+machines.RKE2{}.Facts().OldestTested)
	// A program has the name of its folder in upstream's sources.
	for _, folder := range []string{"bootstrap", "controlplane"} {
		options.Further = append(options.Further, managementcluster.Component{
			Name: "rke2-" + folder, Program: filepath.Join(r.Programs, "rke2-"+folder), Config: filepath.Join(r.Release, folder, "config", "default"),
		})
	}
}
