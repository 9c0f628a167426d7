{{- /* Names are independent of the release name: there is one load balancer manager, and Harvester's own chart uses this name. */}}
{{- define "load-balancer.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "load-balancer.fullname" -}}
{{ .Values.fullnameOverride | default (include "load-balancer.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "load-balancer.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "load-balancer.fullname" .) }}
{{- end }}

{{- define "load-balancer.service" -}}
{{ include "load-balancer.fullname" . }}-webhook
{{- end }}

{{- define "load-balancer.certificate" -}}
{{ include "load-balancer.service" . }}-cert
{{- end }}

{{- /* These cannot change: the selector of a Deployment is immutable. */}}
{{- define "load-balancer.selector" -}}
app.kubernetes.io/name: {{ include "load-balancer.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "load-balancer.labels" -}}
{{ include "load-balancer.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "load-balancer.image" -}}
{{- if hasSuffix "rancher/harvester-load-balancer" .Values.image.repository }}
{{- fail (printf "image.repository must not be Harvester's own image %s, which does not support the arguments of this chart: remove image, or set a copy of docker.io/faultline/harvester-load-balancer" .Values.image.repository) }}
{{- end }}
{{- .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The DNS names of the webhooks' certificate. */}}
{{- define "load-balancer.hosts" -}}
{{- $host := printf "%s.%s.svc" (include "load-balancer.service" .) .Release.Namespace }}
{{- list $host (printf "%s.cluster.local" $host) | toYaml }}
{{- end }}

{{- /* The client config of a webhook. */}}
{{- define "load-balancer.target" -}}
name: {{ include "load-balancer.service" . }}
namespace: {{ .Release.Namespace }}
port: 443
{{- end }}

{{- /* The annotation that makes cert-manager inject its CA. */}}
{{- define "load-balancer.injection" -}}
{{- if .Values.certManager.enabled }}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "load-balancer.certificate" . }}
{{- end }}
{{- end }}
