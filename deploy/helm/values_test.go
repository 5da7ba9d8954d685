package helm_test

import (
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const small = `
customerID: {existingSecret: syncd}
config:
  source: {url: "https://releases.example.net"}
  manifests: [{name: dq_addr_data}]
`

// TestValues renders the chart with the values of usual installations. Each is linted,
// and syncd itself checks the configuration.
func TestValues(t *testing.T) {
	tests := []struct {
		name, values string
		check        func(t *testing.T, o *objects)
	}{
		{"the least", small, func(t *testing.T, o *objects) {
			claims := o.stateful.Spec.VolumeClaimTemplates
			if len(claims) != 1 || claims[0].Spec.Resources.Requests.Storage().String() != "100Gi" || *o.stateful.Spec.Replicas != 1 {
				t.Errorf("%+v", o.stateful.Spec)
			}
			c := o.pod().Spec.Containers[0]
			if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.StartupProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Port != intstr.FromString("http") {
				t.Errorf("%+v %+v %+v", c.StartupProbe, c.LivenessProbe, c.ReadinessProbe)
			}
			if o.secret != nil || o.policy != nil || o.monitor != nil || o.rules != nil || o.service.Spec.ClusterIP != "None" || *o.pod().Spec.AutomountServiceAccountToken {
				t.Error("more than was asked for")
			}
			if !strings.HasSuffix(c.Image, ":"+version(t)) {
				t.Errorf("the image is %s", c.Image)
			}
		}},
		{"several manifests", `
customerID: {existingSecret: licence, key: customer_id}
config:
  source: {url: "https://releases.example.net", retry: {max_elapsed: 5m}, report: false}
  schedule: "CRON_TZ=America/Los_Angeles 0 3 * * *"
  jitter: 0
  retain: 12
  permissions: {files: "0440", directories: "0750"}
  guards: {min_keep_ratio: 0.9, max_file_shrink: "50%"}
  serve: {public_url: "https://mirror:9443", max_hosts: 1000000, rings: [{name: all, delay: 1h}]}
  manifests:
    - {name: dq_addr_data, release: "2026.10", os: [LINUX], activate: {window: "0 2 * * SUN", for: 2h}}
    - {name: geo, include: "*.dat", activate: manual, gate: {command: [/usr/bin/true], compare: {max_changed: "2%"}}}
    - {name: tools, files: [Data/latest/ews.txt]}
  views: [{name: old, layout: flat, hash_files: true, manifests: [geo]}]
serve: {tlsSecret: tls, idsSecret: ids}
`, func(t *testing.T, o *objects) {
			if text := o.config.Data["syncd.yaml"]; !strings.Contains(text, "max_hosts: 1000000\n") || !strings.Contains(text, `release: "2026.10"`) || !strings.Contains(text, "/run/secrets/syncd/customer_id\n") {
				t.Error(text)
			}
			if o.service.Spec.Ports[0].Port != 9443 || len(o.service.Spec.Ports) != 1 || o.service.Spec.ClusterIP != "" {
				t.Errorf("%+v", o.service.Spec)
			}
		}},
		{"the Customer ID as a value", strings.Replace(small, "existingSecret: syncd", "value: CID-of-the-values", 1), func(t *testing.T, o *objects) {
			if o.secret.StringData["customer_id"] != "CID-of-the-values" || !mountsSecret(o, o.secret.Name) {
				t.Errorf("%+v", o.secret)
			}
		}},
		{"serve to the network", small + `
  serve: {public_url: "https://mirror.example.net:9443"}
serve: {tlsSecret: tls, idsSecret: ids}
service: {type: LoadBalancer, annotations: {a: b}}
networkPolicy: {enabled: true, followersFrom: [{ipBlock: {cidr: 192.0.2.0/24}}], egressPorts: [3128]}
`, func(t *testing.T, o *objects) {
			ingress := o.policy.Spec.Ingress
			if len(ingress) != 2 || ingress[1].From[0].IPBlock.CIDR != "192.0.2.0/24" || *ingress[1].Ports[0].Port != intstr.FromString("serve") {
				t.Errorf("%+v", ingress)
			}
			if got := egress(o); !slices.Equal(got, []int{3128, 443}) {
				t.Errorf("lets out the ports %v", got)
			}
			if o.service.Spec.Type != core.ServiceTypeLoadBalancer || !mountsSecret(o, "tls") || !mountsSecret(o, "ids") {
				t.Errorf("%+v", o.service)
			}
		}},
		{"publish", small + `
  publish: {s3: {endpoint: "https://s3.example.net:9000", bucket: refdata}}
  hooks: [{on: failed, webhook: "https://hooks.example.net:8443/x", secret_file: /run/secrets/hooks/secret}]
  election: {lease: 30s}
  tracing: {endpoint: "http://collector:4318", allow_insecure_http: true}
replicas: 2
s3: {credentialsSecret: bucket}
secretMounts: [{name: hooks, secret: syncd-hooks}]
networkPolicy: {enabled: true}
`, func(t *testing.T, o *objects) {
			env := o.pod().Spec.Containers[0].Env
			if len(env) != 1 || env[0].Value != "/run/secrets/s3/credentials" || !mountsSecret(o, "bucket") || !mountsSecret(o, "syncd-hooks") {
				t.Errorf("%+v", env)
			}
			if text := o.config.Data["syncd.yaml"]; !strings.Contains(text, "\"on\": failed") {
				t.Error(text)
			}
			if got := egress(o); !slices.Equal(got, []int{4318, 443, 8443, 9000}) {
				t.Errorf("lets out the ports %v", got)
			}
		}},
		{"a follower of a bucket", `
config:
  source: {s3: {endpoint: "https://s3.example.net", bucket: refdata}}
  manifests: [{name: dq_addr_data}]
serviceAccount: {name: reads-the-bucket, token: true}
`, func(t *testing.T, o *objects) {
			if len(o.pod().Spec.Volumes) != 1 || o.pod().Spec.ServiceAccountName != "reads-the-bucket" {
				t.Errorf("%+v", o.pod().Spec)
			}
		}},
		{"no persistence", small + "persistence: {enabled: false, size: 20Gi}\n", func(t *testing.T, o *objects) {
			data := o.pod().Spec.Volumes[0]
			if o.stateful.Spec.VolumeClaimTemplates != nil || data.EmptyDir == nil || data.EmptyDir.SizeLimit.String() != "20Gi" {
				t.Errorf("%+v", data)
			}
		}},
		{"an existing claim", small + "persistence: {existingClaim: refdata}\n", func(t *testing.T, o *objects) {
			if data := o.pod().Spec.Volumes[0]; o.stateful.Spec.VolumeClaimTemplates != nil || data.PersistentVolumeClaim.ClaimName != "refdata" {
				t.Errorf("%+v", data)
			}
		}},
		{"a storage class", small + "persistence: {storageClass: fast, size: 1Ti, accessModes: [ReadWriteMany], annotations: {a: b}}\n", func(t *testing.T, o *objects) {
			if claim := o.stateful.Spec.VolumeClaimTemplates[0]; *claim.Spec.StorageClassName != "fast" || claim.Annotations["a"] != "b" || claim.Spec.AccessModes[0] != core.ReadWriteMany {
				t.Errorf("%+v", claim)
			}
		}},
		{"a mirror on each node", small + "workload: DaemonSet\nsourceCA: {configMap: ca}\ntolerations: [{operator: Exists}]\n", func(t *testing.T, o *objects) {
			if o.service != nil || o.stateful != nil || len(o.pod().Spec.InitContainers) != 1 || o.pod().Spec.Volumes[0].HostPath.Path != "/var/lib/syncd" {
				t.Errorf("%+v", o.daemon)
			}
			if !strings.Contains(o.config.Data["syncd.yaml"], "ca_file: /run/ca/ca.crt\n") {
				t.Error(o.config.Data["syncd.yaml"])
			}
		}},
		{"a user of a large number", small + "workload: DaemonSet\nuser: 1000660000\ngroup: 1000660000\n", func(t *testing.T, o *objects) {
			if owner := o.pod().Spec.InitContainers[0]; owner.Command[1] != "1000660000:1000660000" || *o.pod().Spec.SecurityContext.RunAsUser != 1000660000 {
				t.Errorf("%v %+v", owner.Command, o.pod().Spec.SecurityContext)
			}
		}},
		{"nodes without persistence", small + "workload: DaemonSet\npersistence: {enabled: false}\n", func(t *testing.T, o *objects) {
			if len(o.pod().Spec.InitContainers) != 0 || o.pod().Spec.Volumes[0].EmptyDir == nil {
				t.Errorf("%+v", o.daemon)
			}
		}},
		{"a password", small + `
web: {secret: web}
podMonitor: {enabled: true, interval: 1m, labels: {release: prometheus}, endpoint: {scheme: https, basicAuth: {username: {name: web, key: user}, password: {name: web, key: password}}}}
prometheusRule: {enabled: true, labels: {release: prometheus}}
scrapeAnnotations: false
restartOnChange: false
`, func(t *testing.T, o *objects) {
			c := o.pod().Spec.Containers[0]
			if !slices.Equal(c.LivenessProbe.Exec.Command, []string{"/usr/bin/syncd", "healthcheck"}) || !slices.Equal(c.ReadinessProbe.Exec.Command, []string{"/usr/bin/syncd", "healthcheck", "--ready"}) {
				t.Errorf("%+v", c)
			}
			if e := o.monitor.Spec.PodMetricsEndpoints; len(e) != 1 || *e[0].Port != "http" || e[0].Interval != "1m" || e[0].BasicAuth.Password.Key != "password" || o.monitor.Labels["release"] != "prometheus" {
				t.Errorf("%+v", e)
			}
			if len(o.pod().Annotations) != 0 || o.rules.Labels["release"] != "prometheus" {
				t.Errorf("%v", o.pod().Annotations)
			}
		}},
		{"readers", small + `
readers:
  - {name: geocoder, image: registry.example.net/geocoder:1, ports: [{containerPort: 8080}], volumeMounts: [{name: config, mountPath: /x, readOnly: true}]}
  - {name: tools, image: registry.example.net/tools:1, resources: {limits: {memory: 1Gi}}}
`, func(t *testing.T, o *objects) {
			c := o.pod().Spec.Containers
			if len(c) != 3 || c[1].Ports[0].ContainerPort != 8080 || len(c[1].VolumeMounts) != 3 || c[2].VolumeMounts[0].MountPath != "/data" || c[2].Resources.Limits.Memory().String() != "1Gi" {
				t.Errorf("%+v", c)
			}
		}},
		{"an image by its digest and where pods run", small + `
image: {repository: mirror.example.net/tools/syncd, digest: "sha256:` + strings.Repeat("0f", 32) + `"}
imagePullSecrets: [{name: pull}]
user: 1000
group: 2000
nodeSelector: {disk: big}
affinity: {nodeAffinity: {}}
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
priorityClassName: high
env: [{name: HTTPS_PROXY, value: "http://proxy.example.net:3128"}]
podLabels: {team: data}
podAnnotations: {a: b}
`, func(t *testing.T, o *objects) {
			pod := o.pod().Spec
			if !strings.HasPrefix(pod.Containers[0].Image, "mirror.example.net/tools/syncd@sha256:0f") || *pod.SecurityContext.RunAsUser != 1000 || *pod.SecurityContext.FSGroup != 2000 || o.pod().Labels["team"] != "data" {
				t.Errorf("%+v", pod)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := helm("lint", "--strict", "--quiet", "syncd", "--values", write(t, tt.values)); err != nil {
				t.Errorf("helm lint: %v", err)
			}
			o, text := render(t, "mine", tt.values)
			checkPods(t, o)
			checkConfig(t, o)
			tt.check(t, o)
			if n := strings.Count(string(text), "CID-of-the-values"); n > 1 {
				t.Errorf("the Customer ID stands in %d places", n)
			}
		})
	}
}

// TestWrongValues requires that a mistake is refused before anything is installed, with
// its place.
func TestWrongValues(t *testing.T) {
	tests := []struct {
		name, values string
		want         []string
	}{
		{"no configuration", "{}", []string{"config"}},
		{"no manifests", "customerID: {existingSecret: s}\nconfig: {source: {url: https://a.example.net}, manifests: []}", []string{"/config/manifests", "minItems"}},
		{"no Customer ID", "config: {source: {url: https://a.example.net}, manifests: [{name: a}]}", []string{"customerID.existingSecret", "kubectl create secret"}},
		{"both kinds of Customer ID", strings.Replace(small, "{existingSecret: syncd}", "{existingSecret: s, value: v}", 1), []string{"not both"}},
		{"a misspelled value", small + "replica: 2", []string{"'replica' not allowed"}},
		{"a misspelled key of the configuration", small + "  schedul: 1h", []string{"/config", "'schedul' not allowed"}},
		{"a misspelled key further below", strings.Replace(small, "{name: dq_addr_data}", "{name: dq_addr_data, relase: latest}", 1), []string{"/config/manifests/0", "'relase' not allowed"}},
		{"a release as a number", strings.Replace(small, "{name: dq_addr_data}", "{name: dq_addr_data, release: 2026.10}", 1), []string{"/config/manifests/0/release", "want string"}},
		{"a mode as a number", small + "  permissions: {files: 0444}", []string{"/config/permissions/files", "want string"}},
		{"a word that is no choice", small + "  transfers: {cache: none}", []string{"/config/transfers/cache", "'bypass', 'keep'"}},
		{"a number out of range", small + "  transfers: {files: 100}", []string{"/config/transfers/files", "64"}},
		{"the Customer ID in the configuration", strings.Replace(small, "{url:", "{customer_id: CID, url:", 1), []string{"/config/source", "'customer_id' not allowed"}},
		{"a data_dir", small + "  data_dir: /data", []string{"/config", "'data_dir' not allowed"}},
		{"a listener", small + "  http: {listen: \":80\"}", []string{"/config/http", "'listen' not allowed"}},
		{"root", small + "user: 0", []string{"/user", "minimum"}},
		{"a size without a unit's form", small + "persistence: {size: 100 GB}", []string{"/persistence/size", "pattern"}},
		{"a workload that is none", small + "workload: Deployment", []string{"/workload", "'StatefulSet', 'DaemonSet'"}},
		{"several replicas of one claim", small + "replicas: 2\npersistence: {existingClaim: c}", []string{"two daemons must never share"}},
		{"nodes that share a claim", small + "workload: DaemonSet\npersistence: {existingClaim: c}", []string{"two daemons must never share"}},
		{"serve without its Secrets", small + "  serve: {public_url: https://a.example.net}", []string{"serve.tlsSecret", "serve.idsSecret"}},
		{"Secrets without serve", small + "serve: {tlsSecret: a, idsSecret: b}", []string{"need config.serve"}},
		{"a reader without an image", small + "readers: [{name: a}]", []string{"/readers/0", "image"}},
		{"a reader named as the mirror", small + "readers: [{name: syncd, image: a}]", []string{"/readers/0/name"}},
		{"a Secret in the place of another one", small + "secretMounts: [{name: tls, secret: a}]", []string{"/secretMounts/0/name"}},
		{"an image without a name", small + "image: {repository: \"\"}", []string{"/image/repository"}},
		{"a port that is none", small + "networkPolicy: {egressPorts: [70000]}", []string{"/networkPolicy/egressPorts/0", "65,535"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := helm("template", "syncd", "syncd", "--values", write(t, tt.values))
			if err == nil {
				t.Fatal("was accepted")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("lacks %q: %v", want, err)
				}
			}
		})
	}
}

func mountsSecret(o *objects, name string) bool {
	return slices.ContainsFunc(o.pod().Spec.Volumes, func(v core.Volume) bool { return v.Secret != nil && v.Secret.SecretName == name })
}

// egress returns the TCP ports besides DNS.
func egress(o *objects) (ports []int) {
	for _, p := range o.policy.Spec.Egress[1].Ports {
		ports = append(ports, p.Port.IntValue())
	}
	return ports
}
