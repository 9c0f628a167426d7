// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package site

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// accessPage returns the page of the ports of the programs and of their rights in Kubernetes.
func accessPage(root string) (map[string]string, error) {
	ports, err := portTables(root)
	if err != nil {
		return nil, err
	}
	roles, err := roleTables(root)
	if err != nil {
		return nil, err
	}
	return map[string]string{"ports-rbac.md": "# Ports and RBAC\n\nThe ports and permissions of the programs, from their manifests. " +
		"The permissions that the accounts on the infrastructure need are on other pages: [vCenter](vsphere.md#accounts), " +
		"[Harvester](harvester.md#accounts).\n\n" + ports + roles}, nil
}

// portTables returns the tables of the ports of managers and of the programs in charts.
func portTables(root string) (string, error) {
	var deployment appsv1.Deployment
	var service corev1.Service
	var policy networkingv1.NetworkPolicy
	for file, into := range map[string]any{"manager/manager.yaml": &deployment, "webhook/service.yaml": &service, "networkpolicy/networkpolicy.yaml": &policy} {
		read, err := readSources(root, "shared/config/"+file)
		if err != nil {
			return "", err
		}
		if err := yaml.UnmarshalStrict(read[0].content, into); err != nil {
			return "", fmt.Errorf("reading %s: %w", file, err)
		}
	}
	var rows [][]string
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			via := ""
			for _, p := range service.Spec.Ports {
				if p.TargetPort.StrVal == port.Name {
					via = fmt.Sprintf("port %d of Service %s", p.Port, code(service.Name))
				}
			}
			rows = append(rows, []string{strconv.Itoa(int(port.ContainerPort)), string(port.Protocol), code(port.Name), via})
		}
	}
	charts, err := chartPorts(root)
	if err != nil {
		return "", err
	}
	out := make([]string, 0, len(policy.Spec.Egress))
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			protocol := corev1.ProtocolTCP
			if port.Protocol != nil {
				protocol = *port.Protocol
			}
			out = append(out, port.Port.String()+"/"+string(protocol))
		}
	}
	return "## Ports of managers\n\nThe manager of each provider listens on these ports. [Flags](flags.md#all-managers) change them.\n\n" +
		table([]string{"Port", "Protocol", "Name", "Reached by"}, rows) +
		"\nThe optional NetworkPolicy allows connections of managers to the ports " + codes(out) +
		". A vCenter, Harvester or API server with another port needs a patch of it: [install](install.md).\n" +
		"\n## Ports of programs on Harvester\n\nThe Deployments of the charts have these ports. A value of the chart is shown with its default.\n\n" +
		table([]string{"Port", "Name", "Chart", "Value"}, charts), nil
}

// chartPorts returns the rows of the ports in the Deployments of charts. Those are templates, so a port is read as text.
func chartPorts(root string) ([][]string, error) {
	files, err := readSources(root, "providers/*/charts/*/templates/deployment.yaml")
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, file := range files {
		chart := path.Dir(path.Dir(file.path))
		defaults, err := readSources(root, chart+"/values.yaml")
		if err != nil {
			return nil, err
		}
		values, err := chartutil.ReadValues(defaults[0].content)
		if err != nil {
			return nil, fmt.Errorf("reading the values of %s: %w", chart, err)
		}
		for _, found := range regexp.MustCompile(`- name: (\S+)\s+containerPort: (.*)`).FindAllStringSubmatch(string(file.content), -1) {
			row := []string{found[2], code(found[1]), code(path.Base(chart)), ""}
			if value, isValue := strings.CutPrefix(strings.Trim(found[2], "{} "), ".Values."); isValue {
				port, err := values.PathValue(value)
				if err != nil {
					return nil, fmt.Errorf("finding the default of %s of %s: %w", value, chart, err)
				}
				row[0], row[3] = fmt.Sprint(port), code(value)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// roleTables returns the tables of the generated roles of programs, and of those that all managers have.
func roleTables(root string) (string, error) {
	shared, err := readSources(root, "shared/config/rbac/leader_election_role.yaml", "shared/config/rbac/diagnostics_role.yaml")
	if err != nil {
		return "", err
	}
	common, err := rules(shared...)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n## RBAC of all managers\n\nThe leader election role is in the namespace of the manager. The other role lets the diagnostics " +
		"endpoint authenticate its clients.\n\n" + common)
	for _, name := range providers(root) {
		folder := "providers/" + name + "/"
		files, err := readSources(root, folder+"config/rbac/role.yaml", folder+"config/*/rbac/role.yaml", folder+"charts/*/files/role.yaml")
		if err != nil {
			return "", err
		}
		for _, file := range files {
			rules, err := rules(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "\n## RBAC of the %s\n\nFrom [role.yaml](../%s).\n\n%s", programOf(name, file.path), file.path, rules)
		}
	}
	return b.String(), nil
}

// programOf returns the name of the program that has a role: the manager of the provider, or that of a chart or of a folder of config.
func programOf(provider, file string) string {
	switch folder := path.Base(path.Dir(path.Dir(file))); {
	case folder == "config":
		return title(provider) + " manager"
	case strings.Contains(file, "/charts/"):
		return title(strings.ReplaceAll(folder, "-", " "))
	default:
		return title(provider) + " " + strings.ReplaceAll(folder, "loadbalancer", "load balancer")
	}
}

// rules returns the table of the rules of the roles in files.
func rules(files ...source) (string, error) {
	var rows [][]string
	for _, file := range files {
		for document := range bytes.SplitSeq(file.content, []byte("\n---")) {
			var role rbacv1.ClusterRole // A Role has the same fields.
			if err := yaml.UnmarshalStrict(bytes.TrimPrefix(document, []byte("---")), &role); err != nil {
				return "", fmt.Errorf("reading %s: %w", file.path, err)
			}
			scope := "all"
			if role.Kind == "Role" { // The namespace in the file is a placeholder.
				scope = "the manager's"
			}
			for _, rule := range role.Rules {
				groups := make([]string, len(rule.APIGroups))
				for i, group := range rule.APIGroups {
					groups[i] = cmp.Or(group, "core")
				}
				rows = append(rows, []string{codes(groups), codes(append(rule.Resources, rule.NonResourceURLs...)), codes(rule.ResourceNames), codes(rule.Verbs), scope})
			}
		}
	}
	return table([]string{"API groups", "Resources", "Only named", "Verbs", "Namespaces"}, rows), nil
}
