#!/bin/sh
# A machine in a container shares the host's kernel: kubeadm's checks of the kernel fail,
# and kube-proxy may not change the conntrack limits.
set -e
verb=$1
case "$verb" in
init | join)
	shift
	if [ -f /run/kubeadm/kubeadm.yaml ] && ! grep -q KubeProxyConfiguration /run/kubeadm/kubeadm.yaml; then
		cat >>/run/kubeadm/kubeadm.yaml <<-EOF

			---
			apiVersion: kubeproxy.config.k8s.io/v1alpha1
			kind: KubeProxyConfiguration
			conntrack:
			  maxPerCore: 0
		EOF
	fi
	exec /usr/bin/kubeadm "$verb" --ignore-preflight-errors=all "$@"
	;;
esac
exec /usr/bin/kubeadm "$@"
