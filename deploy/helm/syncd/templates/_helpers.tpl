{{- define "syncd.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "syncd.selector" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "syncd.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The Secret of the Customer ID; empty for a follower of a bucket. */ -}}
{{- define "syncd.customerIDSecret" -}}
{{- with .Values.customerID -}}
{{- if and .existingSecret .value -}}
{{- fail "customerID: set existingSecret or value, not both" -}}
{{- else if .existingSecret -}}
{{- .existingSecret -}}
{{- else if .value -}}
{{- include "syncd.fullname" $ -}}
{{- else if not (dig "source" "s3" nil $.Values.config) -}}
{{- fail "customerID: name the Secret of the Customer ID in customerID.existingSecret (kubectl create secret generic syncd --from-file=customer_id=./customer_id), or set customerID.value" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* syncd.yaml: the values below `config`, and the keys that the chart sets. */ -}}
{{- define "syncd.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $_ := set $config "data_dir" "/var/lib/syncd/mirror" -}}
{{- $source := get $config "source" -}}
{{- if include "syncd.customerIDSecret" . -}}
{{- $_ := set $source "customer_id_file" (printf "/run/secrets/syncd/%s" .Values.customerID.key) -}}
{{- end -}}
{{- if .Values.sourceCA.configMap -}}
{{- $_ := set $source "ca_file" "/run/ca/ca.crt" -}}
{{- end -}}
{{- $http := get $config "http" | default dict -}}
{{- $_ := set $http "listen" ":9797" -}}
{{- if .Values.web.secret -}}
{{- $_ := set $http "web_config" "/run/secrets/web/web.yml" -}}
{{- end -}}
{{- $_ := set $config "http" $http -}}
{{- if .Values.config.serve -}}
{{- if not (and .Values.serve.tlsSecret .Values.serve.idsSecret) -}}
{{- fail "config.serve needs the Secrets serve.tlsSecret (the certificate) and serve.idsSecret (downstream_ids, as `syncd serve-id add` writes it)" -}}
{{- end -}}
{{- $serve := get $config "serve" -}}
{{- $_ := set $serve "listen" ":9443" -}}
{{- $_ := set $serve "web_config" "/etc/syncd/serve.yml" -}}
{{- $_ := set $serve "ids_file" "/run/secrets/downstream/downstream_ids" -}}
{{- else if or .Values.serve.tlsSecret .Values.serve.idsSecret -}}
{{- fail "serve.tlsSecret and serve.idsSecret need config.serve, with at least public_url" -}}
{{- end -}}
{{- /* YAML 1.1, which Helm reads, takes the key `on` for true. */ -}}
{{- range $config.hooks -}}
{{- if hasKey . "true" -}}
{{- $_ := set . "on" (get . "true") -}}
{{- $_ := unset . "true" -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "syncd.restricted" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- /* A probe by HTTP. With passwords or TLS it asks the control socket, which needs neither. */ -}}
{{- define "syncd.alive" -}}
{{- if .Values.web.secret -}}
exec: {command: [/usr/bin/syncd, healthcheck]}
{{- else -}}
httpGet: {path: /healthz, port: http}
{{- end -}}
{{- end -}}
{{- define "syncd.ready" -}}
{{- if .Values.web.secret -}}
exec: {command: [/usr/bin/syncd, healthcheck, --ready]}
{{- else -}}
httpGet: {path: /readyz, port: http}
{{- end -}}
{{- end -}}

{{- /* The TCP ports of the addresses in the configuration, one a line. */ -}}
{{- define "syncd.egressPorts" -}}
{{- $urls := list -}}
{{- range $at := list (list "source" "url") (list "source" "proxy") (list "source" "s3" "endpoint") (list "publish" "s3" "endpoint") (list "tracing" "endpoint") -}}
{{- $value := $.Values.config -}}
{{- range $at -}}{{- $value = get ($value | default dict) . -}}{{- end -}}
{{- $urls = append $urls $value -}}
{{- end -}}
{{- range .Values.config.services -}}
{{- if kindIs "map" . -}}
{{- $urls = concat $urls (list .url .jsonp_url .proxy) -}}
{{- end -}}
{{- end -}}
{{- range .Values.config.hooks -}}
{{- $urls = append $urls .webhook -}}
{{- end -}}
{{- $ports := list -}}
{{- range $urls -}}
{{- if . -}}
{{- $url := urlParse . -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- $ports = append $ports (default (eq $url.scheme "http" | ternary "80" "443") $port) -}}
{{- end -}}
{{- end -}}
{{- range .Values.networkPolicy.egressPorts -}}
{{- $ports = append $ports (toString .) -}}
{{- end -}}
{{- $ports | uniq | sortAlpha | join "\n" -}}
{{- end -}}
