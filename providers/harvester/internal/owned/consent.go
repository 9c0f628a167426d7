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

// ConsentMode is what becomes of a use that has no consent.
type ConsentMode string

// The modes. Every other one is Enforce.
const (
	// Warn lets it go on.
	Warn ConsentMode = "warn"
	// Enforce refuses it.
	Enforce ConsentMode = "enforce"
)

// everybody in the annotation stands for all namespaces.
const everybody = "*"

// String is the mode as it is written.
func (m *ConsentMode) String() string { return string(*m) }

// Type is the name of a mode in the usage.
func (m *ConsentMode) Type() string { return "mode" }

// Set reads a mode.
func (m *ConsentMode) Set(value string) error {
	switch mode := ConsentMode(value); mode {
	case Warn, Enforce:
		*m = mode
		return nil
	default:
		return fmt.Errorf("must be %s or %s", Warn, Enforce)
	}
}

// Consent is what the administrator decides about the use of what is in other namespaces.
type Consent struct {
	// IdentityNamespaces is for Secrets that spec.identitySecret names in another namespace.
	IdentityNamespaces ConsentMode
	// CloudProviderConfigNamespaces are the namespaces, other than its own, whose manifests a cluster may have changed.
	CloudProviderConfigNamespaces []string
}

// AddFlags adds the flags with their defaults.
func (o *Consent) AddFlags(fs *pflag.FlagSet) {
	o.IdentityNamespaces = Warn
	fs.Var(&o.IdentityNamespaces, "identity-namespaces", fmt.Sprintf(
		"What becomes of a HarvesterCluster whose identity Secret is in another namespace and does not name that of the HarvesterCluster in its annotation %s: "+
			"%s lets it go on with a warning, %s refuses it.", faultlinev1.AllowedNamespacesAnnotation, Warn, Enforce))
	fs.StringSliceVar(&o.CloudProviderConfigNamespaces, "cloud-provider-config-namespaces", nil,
		"Namespaces, other than that of the HarvesterCluster, in which spec.updateCloudProviderConfig may name manifests, if these allow it by their annotation "+
			faultlinev1.AllowedNamespacesAnnotation+".")
}

// Allows reports whether the annotation of an object names the namespace.
func Allows(o metav1.Object, namespace string) bool {
	for name := range strings.SplitSeq(o.GetAnnotations()[faultlinev1.AllowedNamespacesAnnotation], ",") {
		if name = strings.TrimSpace(name); name != "" && (name == everybody || name == namespace) {
			return true
		}
	}
	return false
}

// MayUseIdentity reports whether a cluster in the namespace may use a Secret.
func MayUseIdentity(secret metav1.Object, namespace string) bool {
	return secret.GetNamespace() == namespace || Allows(secret, namespace)
}

// IdentityRefusal says what is missing where MayUseIdentity does not hold.
func IdentityRefusal(secret metav1.Object, namespace string) string {
	return fmt.Sprintf("Secret %s/%s of spec.identitySecret does not allow its use from namespace %s: add %s to its annotation %s, or use a Secret in namespace %[3]s",
		secret.GetNamespace(), secret.GetName(), namespace, namespace, faultlinev1.AllowedNamespacesAnnotation)
}

// NoManifests says why a cluster may not name manifests in a namespace; "" if it may.
func (o *Consent) NoManifests(in, cluster string) string {
	switch {
	case strings.HasPrefix(in, "kube-"):
		return fmt.Sprintf("may not be %s, as namespaces whose names begin with kube- are those of Kubernetes: put the manifests into namespace %s", in, cluster)
	case in == cluster || slices.Contains(o.CloudProviderConfigNamespaces, in):
		return ""
	default:
		return fmt.Sprintf("must be %s, the namespace of the HarvesterCluster, or one of the manager's flag --cloud-provider-config-namespaces", cluster)
	}
}
