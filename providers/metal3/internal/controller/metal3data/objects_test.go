// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestHostName(t *testing.T) {
	t.Parallel()
	for annotation, want := range map[string]string{"metal/h-1": "h-1", "h-1": "h-1", "": ""} {
		machine := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{infrav1.HostAnnotation: annotation}}}
		NewWithT(t).Expect(hostName(machine)).To(Equal(want))
	}
}
