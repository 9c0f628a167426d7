{{- /* Names are independent of the release name: a cluster has one cloud provider, and Harvester's own chart uses this name. */}}
{{- define "cloud-provider.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "cloud-provider.fullname" -}}
{{ .Values.fullnameOverride | default (include "cloud-provider.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "cloud-provider.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "cloud-provider.fullname" .) }}
{{- end }}

{{- /* These cannot change: the selector of a Deployment is immutable. */}}
{{- define "cloud-provider.selector" -}}
app.kubernetes.io/name: {{ include "cloud-provider.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cloud-provider.labels" -}}
{{ include "cloud-provider.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "cloud-provider.image" -}}
{{- if hasSuffix "rancher/harvester-cloud-provider" .Values.image.repository }}
{{- fail (printf "image.repository must not be Harvester's own image %s, which does not support the arguments of this chart: remove image, or set a copy of docker.io/faultline/harvester-cloud-provider" .Values.image.repository) }}
{{- end }}
{{- with .Values.global.cattle.systemDefaultRegistry }}{{ . }}/{{ end }}
{{- .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The path of the kubeconfig in the container. A Secret is mounted as a directory, so that a restarted container reads its current content. */}}
{{- define "cloud-provider.config" -}}
{{- if .Values.cloudConfig.secretName }}/etc/kubernetes/harvester/cloud-config{{ else }}/etc/kubernetes/cloud-config{{ end }}
{{- end }}

{{- define "cloud-provider.hostPath" -}}
{{ .Values.cloudConfigPath | default .Values.cloudConfig.hostPath }}
{{- end }}

{{- define "cloud-provider.affinity" -}}
{{- $affinity := deepCopy .Values.affinity }}
{{- if not (hasKey $affinity "podAntiAffinity") }}
{{- $term := dict "labelSelector" (dict "matchLabels" (include "cloud-provider.selector" . | fromYaml)) "topologyKey" "kubernetes.io/hostname" }}
{{- $_ := set $affinity "podAntiAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" (list $term)) }}
{{- end }}
{{- toYaml $affinity }}
{{- end }}
