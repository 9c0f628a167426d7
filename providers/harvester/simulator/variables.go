// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"encoding/base64"
)

// guestUser is the login user of the images.
const guestUser = "ubuntu"

// TemplateVariables returns the variables of cluster templates for this Harvester.
func (s *Simulator) TemplateVariables() map[string]string {
	network, key := s.settings.networks[0], s.settings.keyPairs[0]
	return map[string]string{
		"HARVESTER_ENDPOINT":         s.Server(),
		"HARVESTER_KUBECONFIG_B64":   base64.StdEncoding.EncodeToString(s.Kubeconfig()),
		"TARGET_HARVESTER_NAMESPACE": defaultNamespace,
		"SSH_KEYPAIR":                cmp.Or(key.Namespace, defaultNamespace) + "/" + key.Name,
		"VM_IMAGE_NAME":              defaultNamespace + "/" + s.settings.images[0],
		"VM_NETWORK":                 cmp.Or(network.Namespace, defaultNamespace) + "/" + network.Name,
		"VM_SSH_USER":                guestUser,
	}
}
