// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/shared/machines"
)

// AddRKE2 adds upstream's bootstrap and control-plane providers for RKE2, and returns the folder of their sources. clusterctl did not install
// them, so its inventory does not have the version of the control-plane provider.
func AddRKE2(options *Options) (release string, err error) {
	programs, release := os.Getenv("FAULTLINE_RKE2"), os.Getenv("FAULTLINE_RKE2_RELEASE")
	if programs == "" || release == "" {
		return "", errors.New("FAULTLINE_RKE2 and FAULTLINE_RKE2_RELEASE are empty: they must name the folder with the programs of RKE2's providers and the folder of their sources: " +
			"make sets them with RKE2=FOLDER and RKE2_RELEASE=FOLDER")
	}
	options.Args = append(options.Args, "--rke2-control-plane-version="+machines.RKE2{}.Facts().OldestTested)
	// A program has the name of its folder in upstream's sources.
	for _, folder := range []string{"bootstrap", "controlplane"} {
		options.Further = append(options.Further, managementcluster.Component{
			Name: "rke2-" + folder, Program: filepath.Join(programs, "rke2-"+folder), Config: filepath.Join(release, folder, "config", "default"),
		})
	}
	return release, nil
}
