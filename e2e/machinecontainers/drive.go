// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package machinecontainers

import (
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	// driveFolder is where cloud-init looks for a config drive that is not a disk.
	driveFolder = "/config-drive/openstack/latest/"
	// hostDataSource limits cloud-init to config drives, because virtual machines use the same image.
	hostDataSource = "datasource_list: [ ConfigDrive ]\n"
)

// drive returns the config drive that the operator would write next to the image.
func drive(boot simulator.Boot) ([]docker.File, error) {
	metaData, err := json.Marshal(boot.MetaData)
	if err != nil {
		return nil, fmt.Errorf("writing meta data: %w", err)
	}
	files := []docker.File{
		{Path: "/etc/cloud/cloud.cfg.d/99-source.cfg", Content: []byte(hostDataSource)},
		{Path: driveFolder + "meta_data.json", Content: metaData, Mode: 0o600},
		{Path: driveFolder + "user_data", Content: boot.UserData, Mode: 0o600},
	}
	if len(boot.NetworkData) == 0 {
		return files, nil
	}
	networkData, err := yaml.YAMLToJSON(boot.NetworkData)
	if err != nil {
		return nil, fmt.Errorf("reading network data: %w", err)
	}
	return append(files, docker.File{Path: driveFolder + "network_data.json", Content: networkData, Mode: 0o600}), nil
}
