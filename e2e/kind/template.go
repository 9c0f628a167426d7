// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/faultline-io/faultline/e2e/binaries"
)

// Template generates a cluster from a template of the first provider, ready to be applied. Its variables come from the clusterctl
// configuration and from this process's environment.
func (e *Environment) Template(ctx context.Context, log io.Writer, name, flavor string) ([]byte, error) {
	out, err := e.clusterctl(ctx, log, "generate", "cluster", name, "--flavor", flavor,
		"--infrastructure", e.Providers[0].Describe().Name, "--kubernetes-version", binaries.KubernetesVersion)
	return []byte(out), err
}

func encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		content, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, err
		}
		_, _ = fmt.Fprintf(&out, "---\n%s", content)
	}
	return out.Bytes(), nil
}
