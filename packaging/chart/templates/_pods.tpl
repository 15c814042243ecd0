{{/* The labels of every object beside its own. */}}
{{- define "eosctl.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* An object that `eosctl watch --emit kubernetes` wrote, by its kind, with the labels of the release. */}}
{{- define "eosctl.object" -}}
{{- $object := .root.Files.Get (printf "files/%s.yaml" .kind) | fromYaml }}
{{- $labels := include "eosctl.labels" .root | fromYaml }}
{{- $_ := set $object.metadata "labels" (merge (dict) (.labels | default dict) $object.metadata.labels $labels) }}
{{- toYaml $object }}
{{- end }}

{{/* The pod of such an object, with image, account, secrets, arguments and resources of the values. */}}
{{- define "eosctl.pod" -}}
{{- $pod := .pod.spec }}
{{- $container := first $pod.containers }}
{{- $tag := .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- $_ := set $container "image" (printf "%s:%s" .root.Values.image.repository $tag) }}
{{- $_ := set $container "imagePullPolicy" .root.Values.image.pullPolicy }}
{{- $_ := set $container "command" .command }}
{{- with .resources }}{{ $_ := set $container "resources" . }}{{ end }}
{{- range $name := .root.Values.secrets }}
{{- $mount := dict "name" (printf "secret-%s" (replace "." "-" $name)) "mountPath" (printf "/etc/eosctl-secrets/%s" $name) "readOnly" true }}
{{- $_ := set $container "volumeMounts" (append $container.volumeMounts $mount) }}
{{- $_ := set $pod "volumes" (append $pod.volumes (dict "name" $mount.name "secret" (dict "secretName" $name))) }}
{{- end }}
{{- range $volume := $pod.volumes }}
{{- if eq $volume.name "config" }}{{ $_ := set $volume "secret" (dict "secretName" $.root.Values.configSecret) }}{{ end }}
{{- end }}
{{- with .root.Values.image.pullSecrets }}
{{- $references := list }}
{{- range . }}{{ $references = append $references (dict "name" .) }}{{ end }}
{{- $_ := set $pod "imagePullSecrets" $references }}
{{- end }}
{{- $_ := set $pod "serviceAccountName" .root.Release.Name }}
{{- $_ := set $pod "automountServiceAccountToken" false }}
{{- $_ := set $pod "securityContext" (dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault")) }}
{{- end }}
