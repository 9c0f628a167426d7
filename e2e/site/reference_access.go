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
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// access is the content of the page of ports and permissions, with the rows of its tables.
type access struct {
	// Egress lists the ports that a NetworkPolicy lets managers connect to.
	Egress []string
	// Ports are those of managers, Charts those of the programs in charts.
	Ports, Charts [][]string
	// Common are the rules of all managers, Roles those of each program.
	Common [][]string
	Roles  []role
}

// role has the rules of a program, which are in a file.
type role struct {
	Program, File string
	Rules         [][]string
}

// accessPage returns the page of the ports of the programs and of their rights in Kubernetes.
func accessPage(root string) (map[string]string, error) {
	var a access
	for _, read := range []func(root string) error{a.readPorts, a.readChartPorts, a.readRoles} {
		if err := read(root); err != nil {
			return nil, err
		}
	}
	page, err := fill("ports-rbac.md", a)
	return map[string]string{"ports-rbac.md": page}, err
}

// readPorts reads the ports of managers, which are the same for all providers.
func (a *access) readPorts(root string) error {
	var deployment appsv1.Deployment
	var service corev1.Service
	var policy networkingv1.NetworkPolicy
	for file, into := range map[string]any{"manager/manager.yaml": &deployment, "webhook/service.yaml": &service, "networkpolicy/networkpolicy.yaml": &policy} {
		read, err := readSources(root, "shared/config/"+file)
		if err != nil {
			return err
		}
		if err := yaml.UnmarshalStrict(read[0].content, into); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		for _, port := range container.Ports {
			via := ""
			for _, p := range service.Spec.Ports {
				if p.TargetPort.StrVal == port.Name {
					via = fmt.Sprintf("port %d of Service %s", p.Port, code(service.Name))
				}
			}
			a.Ports = append(a.Ports, []string{strconv.Itoa(int(port.ContainerPort)), string(port.Protocol), code(port.Name), via})
		}
	}
	for _, rule := range policy.Spec.Egress {
		for _, port := range rule.Ports {
			a.Egress = append(a.Egress, port.Port.String()+"/"+string(ptr.Deref(port.Protocol, corev1.ProtocolTCP)))
		}
	}
	return nil
}

// readChartPorts reads the ports in the Deployments of charts. Those are templates, so a port is read as text.
func (a *access) readChartPorts(root string) error {
	files, err := readSources(root, "providers/*/charts/*/templates/deployment.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		chart := path.Dir(path.Dir(file.path))
		defaults, err := readSources(root, chart+"/values.yaml")
		if err != nil {
			return err
		}
		values, err := chartutil.ReadValues(defaults[0].content)
		if err != nil {
			return fmt.Errorf("reading the values of %s: %w", chart, err)
		}
		for _, found := range regexp.MustCompile(`- name: (\S+)\s+containerPort: (.*)`).FindAllStringSubmatch(string(file.content), -1) {
			row := []string{found[2], code(found[1]), code(path.Base(chart)), ""}
			if value, isValue := strings.CutPrefix(strings.Trim(found[2], "{} "), ".Values."); isValue {
				port, err := values.PathValue(value)
				if err != nil {
					return fmt.Errorf("finding the default of %s of %s: %w", value, chart, err)
				}
				row[0], row[3] = fmt.Sprint(port), code(value)
			}
			a.Charts = append(a.Charts, row)
		}
	}
	return nil
}

// readRoles reads the generated roles of programs, and those that all managers have.
func (a *access) readRoles(root string) error {
	shared, err := readSources(root, "shared/config/rbac/leader_election_role.yaml", "shared/config/rbac/diagnostics_role.yaml")
	if err != nil {
		return err
	}
	if a.Common, err = rules(shared...); err != nil {
		return err
	}
	for _, name := range providers(root) {
		folder := "providers/" + name + "/"
		files, err := readSources(root, folder+"config/rbac/role.yaml", folder+"config/*/rbac/role.yaml", folder+"charts/*/files/role.yaml")
		if err != nil {
			return err
		}
		for _, file := range files {
			rules, err := rules(file)
			if err != nil {
				return err
			}
			a.Roles = append(a.Roles, role{programOf(name, file.path), file.path, rules})
		}
	}
	return nil
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

// rules returns the rows of the rules of the roles in files.
func rules(files ...source) ([][]string, error) {
	var rows [][]string
	for _, file := range files {
		for document := range bytes.SplitSeq(file.content, []byte("\n---")) {
			var read rbacv1.ClusterRole // A Role has the same fields.
			if err := yaml.UnmarshalStrict(bytes.TrimPrefix(document, []byte("---")), &read); err != nil {
				return nil, fmt.Errorf("reading %s: %w", file.path, err)
			}
			scope := "all"
			if read.Kind == "Role" { // The namespace in the file is a placeholder.
				scope = "the manager's"
			}
			for _, rule := range read.Rules {
				groups := make([]string, len(rule.APIGroups))
				for i, group := range rule.APIGroups {
					groups[i] = cmp.Or(group, "core")
				}
				rows = append(rows, []string{codes(groups), codes(append(rule.Resources, rule.NonResourceURLs...)), codes(rule.ResourceNames), codes(rule.Verbs), scope})
			}
		}
	}
	return rows, nil
}
