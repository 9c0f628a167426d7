// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// ConsentMode defines how to treat a use without consent.
type ConsentMode string

// The modes. Any other value means Enforce.
const (
	// Warn allows it with a warning.
	Warn ConsentMode = "warn"
	// Enforce rejects it.
	Enforce ConsentMode = "enforce"
)

// anyNamespace in the annotation matches all namespaces.
const anyNamespace = "*"

// String implements pflag.Value.
func (m *ConsentMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *ConsentMode) Type() string { return "mode" }

// Set implements pflag.Value.
func (m *ConsentMode) Set(value string) error {
	switch mode := ConsentMode(value); mode {
	case Warn, Enforce:
		*m = mode
		return nil
	default:
		return fmt.Errorf("must be %s or %s", Warn, Enforce)
	}
}

// Consent configures the use of objects in other namespaces. The administrator sets it.
type Consent struct {
	// IdentityNamespaces applies to Secrets of spec.identitySecret in another namespace.
	IdentityNamespaces ConsentMode
	// CloudProviderConfigNamespaces are the other namespaces in which a cluster may have manifests changed.
	CloudProviderConfigNamespaces []string
}

// AddFlags adds the flags with their defaults.
func (o *Consent) AddFlags(fs *pflag.FlagSet) {
	o.IdentityNamespaces = Warn
	fs.Var(&o.IdentityNamespaces, "identity-namespaces", fmt.Sprintf(
		"Action for a HarvesterCluster whose identity Secret is in another namespace and does not list the namespace of the HarvesterCluster in its annotation %s: "+
			"%s accepts it with a warning, %s rejects it.", faultlinev1.AllowedNamespacesAnnotation, Warn, Enforce))
	fs.StringSliceVar(&o.CloudProviderConfigNamespaces, "cloud-provider-config-namespaces", nil,
		"Namespaces, other than that of the HarvesterCluster, in which spec.updateCloudProviderConfig may name manifests that allow it by their annotation "+
			faultlinev1.AllowedNamespacesAnnotation+".")
}

// Allows reports whether the annotation of an object lists the namespace.
func Allows(o metav1.Object, namespace string) bool {
	for name := range strings.SplitSeq(faultlinev1.Value(o.GetAnnotations(), faultlinev1.AllowedNamespacesAnnotation), ",") {
		if name = strings.TrimSpace(name); name != "" && (name == anyNamespace || name == namespace) {
			return true
		}
	}
	return false
}

// MayUseIdentity reports whether a cluster in the namespace may use a Secret.
func MayUseIdentity(secret metav1.Object, namespace string) bool {
	return secret.GetNamespace() == namespace || Allows(secret, namespace)
}

// IdentityRefusal returns the message for a Secret that MayUseIdentity rejects.
func IdentityRefusal(secret metav1.Object, namespace string) string {
	return fmt.Sprintf("Secret %s/%s of spec.identitySecret does not allow its use from namespace %s: add %s to its annotation %s, or use a Secret in namespace %[3]s",
		secret.GetNamespace(), secret.GetName(), namespace, namespace, faultlinev1.AllowedNamespacesAnnotation)
}

// NoManifests returns why a cluster may not use manifests in a namespace, or "".
func (o *Consent) NoManifests(in, cluster string) string {
	switch {
	case strings.HasPrefix(in, "kube-"):
		return fmt.Sprintf("may not be %s, because namespaces with the prefix kube- are reserved for Kubernetes: put the manifests into namespace %s", in, cluster)
	case in == cluster || slices.Contains(o.CloudProviderConfigNamespaces, in):
		return ""
	default:
		return fmt.Sprintf("must be %s, the namespace of the HarvesterCluster, or a namespace in the manager's flag --cloud-provider-config-namespaces", cluster)
	}
}
