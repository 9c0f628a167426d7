{{- /* The template names have a unique prefix, because all charts of a release share them. */}}
{{- define "kubevip.name" -}}
{{ .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kubevip.fullname" -}}
{{ .Values.fullnameOverride | default (include "kubevip.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kubevip.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "kubevip.fullname" .) }}
{{- end }}

{{- define "kubevip.namespace" -}}
{{ .Values.namespaceOverride | default .Release.Namespace }}
{{- end }}

{{- define "kubevip.selector" -}}
app.kubernetes.io/name: {{ include "kubevip.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubevip.labels" -}}
{{ include "kubevip.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "kubevip.registry" -}}
{{- with .Values.global }}{{ with .cattle }}{{ with .systemDefaultRegistry }}{{ . }}/{{ end }}{{ end }}{{ end }}
{{- end }}
