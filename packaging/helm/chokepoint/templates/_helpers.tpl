{{- /* Only what tests/package/chart.py can render: its docstring has the list. */}}
{{- define "chokepoint.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "chokepoint.serveLabels" -}}
app.kubernetes.io/name: chokepoint-serve
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "chokepoint.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "chokepoint.keySecret" -}}
{{- if .Values.key.existingSecret -}}
{{ .Values.key.existingSecret }}
{{- else -}}
{{ .Release.Name }}-key
{{- end -}}
{{- end }}

{{- define "chokepoint.podSecurity" -}}
runAsUser: 65532
runAsGroup: 65532
runAsNonRoot: true
fsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "chokepoint.containerSecurity" -}}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities:
  drop: [ALL]
{{- end }}
