// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	cloudconfig "k8s.io/cloud-provider/app/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/instances"
	"github.com/faultline-io/faultline/providers/harvester/internal/cloudprovider/services"
	"github.com/faultline-io/faultline/shared/version"
)

// defaultCluster is the default cluster name of the framework.
const defaultCluster = "kubernetes"

// Options are the flags specific to this cloud provider.
type Options struct {
	ManagementNetwork    string
	NodeIPCIDR           string
	NodeExcludeIPRanges  []string
	IgnoreProvidedIP     bool
	DisableVMIController bool
	IPv4Pool, IPv6Pool   string
	// HelpOnError prints all flags in addition to an error.
	HelpOnError bool

	services  services.Options
	addresses instances.AddressOptions
}

func (o *Options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ManagementNetwork, "management-network", "",
		"Network on Harvester, as namespace/name, of the addresses of Nodes, and of Services whose annotation names no other network. "+
			"If unset, Nodes use the first network of their virtual machine.")
	fs.StringVar(&o.NodeIPCIDR, "node-ip-cidr", "",
		"CIDR of internal addresses of Nodes, or one for each IP family, separated by a comma. If unset, the first address of each family is internal.")
	fs.StringSliceVar(&o.NodeExcludeIPRanges, "node-exclude-ip-ranges", nil,
		"CIDRs and addresses that are not reported as external addresses of Nodes. Used only if --node-ip-cidr is set.")
	fs.BoolVar(&o.IgnoreProvidedIP, "disable-annotation-alpha-provided-ip-addr", false,
		"Ignore the Node annotations alpha.kubernetes.io/provided-node-ip and cloudprovider.harvesterhci.io/additional-internal-ips.")
	fs.BoolVar(&o.DisableVMIController, "disable-vmi-controller", false,
		"Do not update zone and region of Nodes when their virtual machines migrate.")
	fs.StringVar(&o.IPv4Pool, "ipv4-pool", "", "IPPool on Harvester for IPv4 addresses of Services. If unset, Harvester selects one.")
	fs.StringVar(&o.IPv6Pool, "ipv6-pool", "",
		"IPPool on Harvester for IPv6 addresses of Services. If unset, Harvester selects one, and a dual-stack Service has an address of its first family only.")
	fs.BoolVar(&o.HelpOnError, "show-full-help-on-error", false, "Print all flags if one of them is invalid.")
}

// complete parses the flags. cluster is the cluster name of the framework.
func (o *Options) complete(cluster string) error {
	network, err := networkName(o.ManagementNetwork)
	if err != nil {
		return fmt.Errorf("--management-network: %w", err)
	}
	o.services = services.Options{Cluster: cluster, Network: network, Pools: map[corev1.IPFamily]string{
		corev1.IPv4Protocol: o.IPv4Pool, corev1.IPv6Protocol: o.IPv6Pool,
	}}
	o.addresses = instances.AddressOptions{Network: network, IgnoreProvided: o.IgnoreProvidedIP}
	if o.addresses.Internal, err = prefixes(strings.Split(o.NodeIPCIDR, ",")); err != nil {
		return fmt.Errorf("--node-ip-cidr: %w", err)
	}
	if err := internal(o.addresses.Internal); err != nil {
		return fmt.Errorf("--node-ip-cidr: %w", err)
	}
	if o.addresses.Excluded, err = prefixes(o.NodeExcludeIPRanges); err != nil {
		return fmt.Errorf("--node-exclude-ip-ranges: %w", err)
	}
	return nil
}

// networkName qualifies the name of a network with its namespace.
func networkName(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	namespace, name, qualified := strings.Cut(text, "/")
	if !qualified {
		namespace, name = corev1.NamespaceDefault, text
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q must have the form namespace/name", text)
	}
	return namespace + "/" + name, nil
}

// prefixes parses CIDRs and addresses.
func prefixes(texts []string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			addr, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("%q must be a CIDR or an IP address", text)
			}
			prefix = netip.PrefixFrom(addr, addr.BitLen())
		}
		list = append(list, prefix)
	}
	return list, nil
}

// internal returns why Nodes cannot have internal addresses in these prefixes.
func internal(list []netip.Prefix) error {
	has := map[bool]netip.Prefix{}
	for _, prefix := range list {
		if other, twice := has[prefix.Addr().Is4()]; twice {
			return fmt.Errorf("%s and %s must not be of the same IP family", other, prefix)
		}
		has[prefix.Addr().Is4()] = prefix
		if addr := prefix.Addr(); addr.IsLoopback() || addr.IsMulticast() || addr.IsLinkLocalUnicast() || prefix.IsSingleIP() && !addr.IsGlobalUnicast() {
			return fmt.Errorf("%s must be a range of unicast addresses, not loopback, multicast or link-local", prefix)
		}
	}
	return nil
}

// Command returns the root command, which runs until stop is closed. It may be called only once per process.
func Command(stop <-chan struct{}) (*cobra.Command, error) {
	framework, err := options.NewCloudControllerManagerOptions()
	if err != nil {
		return nil, err
	}
	// A server keeps much more state for unauthenticated clients with HTTP/2.
	framework.SecureServing.DisableHTTP2Serving = true
	own := &Options{}
	flags := cliflag.NamedFlagSets{}
	own.addFlags(flags.FlagSet(Name))
	cloudprovider.RegisterCloudProvider(Name, func(config io.Reader) (cloudprovider.Interface, error) { return newProvider(config, *own) })
	command := app.NewCloudControllerManagerCommand(framework, own.cloud, app.DefaultInitFuncConstructors, names.CCMControllerAliases(), flags, stop)
	command.Use = "harvester-cloud-provider"
	run := command.RunE
	command.RunE = func(cmd *cobra.Command, args []string) error {
		// The framework prints the version of the Kubernetes libraries.
		if cmd.Flags().Changed("version") {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Text(cmd.Name()))
			return err
		}
		klog.InfoS("Starting "+cmd.Name(), version.Pairs()...)
		return run(cmd, args)
	}
	command.Long = "Cloud provider for guest clusters on Harvester: sets addresses, zone and region of Nodes, and addresses of Services."
	// These flags of the framework have only one valid value. Looking up the authentication ConfigMap would need otherwise unused
	// permissions.
	for name, value := range map[string]string{"cloud-provider": Name, "authentication-skip-lookup": "true"} {
		if err := command.Flags().Set(name, value); err != nil {
			return nil, fmt.Errorf("setting --%s: %w", name, err)
		}
	}
	ctrl.SetLogger(klog.Background())
	if err := version.Register(legacyregistry.Registerer()); err != nil {
		return nil, err
	}
	command.PreRunE = func(cmd *cobra.Command, _ []string) error {
		cmd.SilenceUsage = !own.HelpOnError
		cluster, err := cmd.Flags().GetString("cluster-name")
		if err != nil {
			return err
		}
		return own.complete(cluster)
	}
	return command, nil
}

// cloud returns the cloud provider. The framework cannot run without one.
func (o *Options) cloud(config *cloudconfig.CompletedConfig) cloudprovider.Interface {
	if o.services.Cluster == "" || o.services.Cluster == defaultCluster {
		klog.Warningf("The flag --cluster-name is %q: set a name that is unique among the clusters in the namespace on Harvester, so that IPPools can distinguish them", o.services.Cluster)
	}
	from := config.ComponentConfig.KubeCloudShared.CloudProvider
	provider, err := cloudprovider.InitCloudProvider(from.Name, from.CloudConfigFile)
	if err != nil {
		klog.Fatalf("Starting the cloud provider: %v", err)
	}
	return provider
}
