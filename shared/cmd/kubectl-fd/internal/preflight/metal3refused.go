// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// metal3Kinds are what this provider's webhook refuses, of objects in v1beta1 or v1beta2.
func metal3Kinds() []kind {
	return []kind{
		{name: "Metal3Cluster", spec: []string{"spec"}, look: metal3Cluster},
		{name: "Metal3Machine", spec: []string{"spec"}, look: metal3Machine},
		{name: "Metal3MachineTemplate", spec: []string{"spec", "template", "spec"}, look: metal3MachineTemplate, makes: "Metal3Machine"},
		{name: "Metal3DataTemplate", spec: []string{"spec"}, look: metal3DataTemplate},
		{name: "Metal3Data", spec: []string{"spec"}, look: metal3Data},
		{name: "Metal3DataClaim", spec: []string{"spec"}, look: metal3DataClaim},
	}
}

func metal3Cluster(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	if _, managed := object.GetAnnotations()["cluster.x-k8s.io/managed-by"]; managed || text(object, "spec", "controlPlaneEndpoint", "host") != "" {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("controlPlaneEndpoint", "host"), "name the address of the API server")}
}

// metal3Spec is what is looked at of a Metal3Machine.
type metal3Spec struct {
	ProviderID, FailureDomain string
	Image                     metal3Image
	CustomDeploy              struct{ Method string }
	HostSelector              struct {
		MatchLabels      map[string]string
		MatchExpressions []struct {
			Key, Operator string
			Values        []string
		}
	}
	UserData, MetaData, NetworkData, DataTemplate *reference
}

// metal3Image has the format by both of its names.
type metal3Image struct{ URL, Checksum, ChecksumType, Format, DiskFormat string }

func metal3Machine(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	return metal3MachineSpec(as[metal3Spec](object, "spec"), object.GetNamespace(), path)
}

func metal3MachineTemplate(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[metal3Spec](object, "spec", "template", "spec")
	errs := metal3MachineSpec(spec, object.GetNamespace(), path)
	if spec.ProviderID != "" {
		errs = append(errs, field.Forbidden(path.Child("providerID"), "all machines of the template would share it"))
	}
	return errs
}

func metal3MachineSpec(spec metal3Spec, namespace string, path *field.Path) field.ErrorList {
	errs := deployed(spec, path)
	errs = append(errs, metav1validation.ValidateLabels(spec.HostSelector.MatchLabels, path.Child("hostSelector", "matchLabels"))...)
	for i, expression := range spec.HostSelector.MatchExpressions {
		path, operator := path.Child("hostSelector", "matchExpressions").Index(i), strings.ToLower(expression.Operator)
		if !slices.Contains([]string{"in", "notin", "exists", "!", "=", "==", "!=", "gt", "lt"}, operator) {
			errs = append(errs, field.Invalid(path.Child("operator"), expression.Operator, "is no operator"))
		} else if _, err := labels.NewRequirement(expression.Key, selection.Operator(operator), expression.Values); err != nil {
			errs = append(errs, field.Invalid(path, expression.Key, "cannot be compared with labels"))
		}
	}
	for name, secret := range map[string]*reference{"userData": spec.UserData, "metaData": spec.MetaData, "networkData": spec.NetworkData} {
		errs = append(errs, secretOf(secret, namespace, path.Child(name))...)
	}
	if spec.DataTemplate != nil {
		errs = append(errs, ofNamespace(spec.DataTemplate.Namespace, namespace, path.Child("dataTemplate", "namespace"))...)
	}
	errs = append(errs, labelValue(spec.FailureDomain, path.Child("failureDomain"))...)
	if id := spec.ProviderID; id != "" && !strings.HasPrefix(id, "metal3://") {
		errs = append(errs, field.Invalid(path.Child("providerID"), id, "does not begin with metal3://"))
	}
	return errs
}

func secretOf(secret *reference, namespace string, path *field.Path) field.ErrorList {
	if secret == nil {
		return nil
	}
	errs := ofNamespace(secret.Namespace, namespace, path.Child("namespace"))
	if secret.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name the Secret, or remove the reference"))
	}
	return errs
}

// deployed wants something to be deployed.
func deployed(spec metal3Spec, path *field.Path) field.ErrorList {
	path = path.Child("image")
	switch {
	case spec.CustomDeploy.Method != "":
		return nil
	case spec.Image == metal3Image{}:
		return field.ErrorList{field.Required(path, "name the image that hosts boot, or a procedure in customDeploy.method")}
	}
	return append(spec.Image.location(path.Child("url")), spec.Image.verified(path.Child("checksum"))...)
}

func (i metal3Image) location(path *field.Path) field.ErrorList {
	switch {
	case i.URL == "":
		return field.ErrorList{field.Required(path, "tell where the image is")}
	case !absolute(i.URL):
		return field.ErrorList{field.Invalid(path, i.URL, "is no URL with a scheme")}
	}
	return nil
}

// verified wants a checksum, but of live ISOs and what is in an OCI registry.
func (i metal3Image) verified(path *field.Path) field.ErrorList {
	scheme, _, _ := strings.Cut(strings.ToLower(i.Checksum), "://")
	switch {
	case i.Format == "live-iso", i.DiskFormat == "live-iso":
		return nil
	case i.Checksum == "" && !strings.HasPrefix(strings.ToLower(i.URL), "oci://"):
		return field.ErrorList{field.Required(path, "give the checksum of the image, or the URL of a file with it")}
	case (scheme == "http" || scheme == "https") && !absolute(i.Checksum):
		return field.ErrorList{field.Invalid(path, i.Checksum, "is neither a checksum nor a URL")}
	}
	return nil
}

// absolute tells whether a text is a URL with a scheme.
func absolute(s string) bool {
	parsed, err := url.Parse(s)
	return err == nil && parsed.Scheme != "" && (parsed.Host != "" || parsed.Path != "")
}

func metal3Data(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[struct {
		Index                 int
		Template, Claim       reference
		MetaData, NetworkData *reference
	}](object, "spec")
	own := object.GetNamespace()
	errs := named(spec.Template, "Metal3DataTemplate", own, path.Child("template"))
	errs = append(errs, named(spec.Claim, "Metal3DataClaim", own, path.Child("claim"))...)
	errs = append(errs, secretOf(spec.MetaData, own, path.Child("metaData"))...)
	errs = append(errs, secretOf(spec.NetworkData, own, path.Child("networkData"))...)
	if spec.Index < 0 {
		errs = append(errs, field.Invalid(path.Child("index"), spec.Index, "is less than 0"))
	}
	if want := fmt.Sprintf("%s-%d", spec.Template.Name, spec.Index); object.GetName() != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), object.GetName(), "has to be template and index, "+want))
	}
	return errs
}

func metal3DataClaim(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	return named(as[reference](object, "spec", "template"), "Metal3DataTemplate", object.GetNamespace(), path.Child("template"))
}

func named(to reference, kind, own string, path *field.Path) field.ErrorList {
	errs := ofNamespace(to.Namespace, own, path.Child("namespace"))
	if to.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name the "+kind))
	}
	return errs
}

// metal3Rendered is what is looked at of a Metal3DataTemplate.
type metal3Rendered struct {
	MetaData struct {
		FromHostInterfaces []struct {
			Interface   string
			FromBootMAC bool
		}
		FromLabels      []struct{ Label string }
		FromAnnotations []annotated
	}
	NetworkData struct {
		Links    struct{ Ethernets, Bonds, Bridges, VLANs []metal3Link }
		Networks map[string][]metal3Network
		Services struct{ DNS []string }
	}
}

type (
	annotated  struct{ Annotation string }
	metal3Link struct {
		ID, VLANLink           string
		BondLinks, BridgeLinks []string
		MACAddress             *struct {
			String, FromHostInterface *string
			FromAnnotation            *annotated
		}
		// Parameters are a list in v1beta2, a map in v1beta1.
		Parameters any
	}
	metal3Network struct {
		Link, IPAddressFromIPPool string
		FromPoolRef               *reference
		FromPoolAnnotation        *annotated
		Routes                    []struct {
			Gateway struct {
				String, FromIPPool *string
				FromPoolRef        *reference
				FromPoolAnnotation *annotated
			}
		}
	}
)

func metal3DataTemplate(object *unstructured.Unstructured, path *field.Path) field.ErrorList {
	spec := as[metal3Rendered](object, "spec")
	meta, network := path.Child("metaData"), path.Child("networkData")
	var errs field.ErrorList
	for i, item := range spec.MetaData.FromHostInterfaces {
		at := meta.Child("fromHostInterfaces").Index(i).Child("interface")
		if item.FromBootMAC && item.Interface != "" {
			errs = append(errs, field.Forbidden(at, "is not used with fromBootMAC: remove one of the two"))
		} else if !item.FromBootMAC && item.Interface == "" {
			errs = append(errs, field.Required(at, "name the interface whose MAC address is wanted, or set fromBootMAC"))
		}
	}
	for i, item := range spec.MetaData.FromLabels {
		errs = append(errs, key(item.Label, meta.Child("fromLabels").Index(i).Child("label"))...)
	}
	for i, item := range spec.MetaData.FromAnnotations {
		errs = append(errs, key(item.Annotation, meta.Child("fromAnnotations").Index(i).Child("annotation"))...)
	}
	errs = append(errs, spec.links(network.Child("links"))...)
	for _, family := range slices.Sorted(maps.Keys(spec.NetworkData.Networks)) {
		for i, n := range spec.NetworkData.Networks[family] {
			errs = append(errs, n.errors(spec.linkIDs(), family == "ipv4" || family == "ipv6", network.Child("networks", family).Index(i))...)
		}
	}
	for i, server := range spec.NetworkData.Services.DNS {
		errs = append(errs, address(server, network.Child("services", "dns").Index(i))...)
	}
	return errs
}

// key wants the key of a label or annotation.
func key(key string, path *field.Path) field.ErrorList {
	if len(validation.IsQualifiedName(strings.ToLower(key))) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, key, "no object can have such a key")}
}

func (r metal3Rendered) linkIDs() []string {
	var ids []string
	for _, links := range [][]metal3Link{r.NetworkData.Links.Ethernets, r.NetworkData.Links.Bonds, r.NetworkData.Links.Bridges, r.NetworkData.Links.VLANs} {
		for _, link := range links {
			ids = append(ids, link.ID)
		}
	}
	return ids
}

func (r metal3Rendered) links(path *field.Path) field.ErrorList {
	links, known, once := r.NetworkData.Links, r.linkIDs(), map[string]bool{}
	var errs field.ErrorList
	for _, of := range []struct {
		kind     string
		links    []metal3Link
		reserved []string
	}{
		{"ethernets", links.Ethernets, nil}, {"bonds", links.Bonds, []string{"mode", "links", "xmit_hash_policy"}},
		{"bridges", links.Bridges, []string{"links"}}, {"vlans", links.VLANs, nil},
	} {
		for i, link := range of.links {
			at := path.Child(of.kind).Index(i)
			if once[link.ID] {
				errs = append(errs, field.Duplicate(at.Child("id"), link.ID))
			}
			once[link.ID] = true
			errs = append(errs, link.mac(at.Child("macAddress"))...)
			for j, id := range link.BondLinks {
				errs = append(errs, oneOf(id, known, at.Child("bondLinks").Index(j))...)
			}
			for j, id := range link.BridgeLinks {
				errs = append(errs, oneOf(id, known, at.Child("bridgeLinks").Index(j))...)
			}
			if of.kind == "vlans" {
				errs = append(errs, oneOf(link.VLANLink, known, at.Child("vlanLink"))...)
			}
			errs = append(errs, link.reservedParameters(of.reserved, at.Child("parameters"))...)
		}
	}
	return errs
}

func oneOf(id string, known []string, path *field.Path) field.ErrorList {
	if slices.Contains(known, id) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, id, "is the id of no link")}
}

func (l metal3Link) mac(path *field.Path) field.ErrorList {
	if l.MACAddress == nil {
		return nil
	}
	mac, given := *l.MACAddress, 0
	for _, is := range []bool{mac.String != nil, mac.FromHostInterface != nil, mac.FromAnnotation != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return field.ErrorList{field.Invalid(path, given, "give exactly one of string, fromHostInterface and fromAnnotation")}
	}
	if mac.String != nil {
		if _, err := net.ParseMAC(*mac.String); err != nil {
			return field.ErrorList{field.Invalid(path.Child("string"), *mac.String, "is no MAC address")}
		}
	}
	if mac.FromAnnotation != nil {
		return key(mac.FromAnnotation.Annotation, path.Child("fromAnnotation", "annotation"))
	}
	return nil
}

// reservedParameters are those that fields of their own decide.
func (l metal3Link) reservedParameters(reserved []string, path *field.Path) field.ErrorList {
	var names []string
	switch parameters := l.Parameters.(type) {
	case []any:
		for _, parameter := range parameters {
			fields, _ := parameter.(map[string]any)
			names = append(names, fmt.Sprint(fields["name"]))
		}
	case map[string]any:
		names = slices.Sorted(maps.Keys(parameters))
	}
	var errs field.ErrorList
	for i, name := range names {
		if slices.Contains(reserved, name) {
			errs = append(errs, field.Forbidden(path.Index(i).Child("name"), name+" is decided by a field of its own: remove the parameter"))
		}
	}
	return errs
}

func (n metal3Network) errors(links []string, fromPool bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case !fromPool:
	case n.FromPoolAnnotation != nil:
		errs = key(n.FromPoolAnnotation.Annotation, path.Child("fromPoolAnnotation", "annotation"))
	case n.IPAddressFromIPPool == "" && n.FromPoolRef == nil:
		errs = field.ErrorList{field.Required(path.Child("fromPoolRef"), "name the pool that the address is from")}
	}
	errs = append(errs, oneOf(n.Link, links, path.Child("link"))...)
	for i, route := range n.Routes {
		gateway, at := route.Gateway, path.Child("routes").Index(i).Child("gateway")
		switch {
		case gateway.FromPoolAnnotation != nil:
			errs = append(errs, key(gateway.FromPoolAnnotation.Annotation, at.Child("fromPoolAnnotation", "annotation"))...)
		case gateway.String == nil && gateway.FromIPPool == nil && gateway.FromPoolRef == nil:
			errs = append(errs, field.Required(at, "give the address of the gateway in string, or a pool that has one"))
		}
	}
	return errs
}
