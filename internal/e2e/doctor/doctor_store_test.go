package doctor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"syncd/internal/downstream/bucket/buckettest"
	"syncd/internal/e2e"
	"syncd/internal/emulator"
)

// sickStore is a broken set-up of a host with a bucket. All share one S3 server, so each has
// a prefix and a front of its own.
type sickStore struct {
	name      string
	publishes bool // publish.s3 instead of source.s3
	breakIt   func(f *e2e.FollowerHost)
	check     string
	says      []string
}

// keys sets the credentials of the shell.
func keys(f *e2e.FollowerHost, id, secret string) {
	f.Environ = []string{
		"SYSTEMD_UNIT_PATH=" + f.Path("units"), "HOME=" + f.Dir,
		"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/", // no role is looked for on the network
	}
	if id != "" {
		f.Environ = append(f.Environ, "AWS_ACCESS_KEY_ID="+id, "AWS_SECRET_ACCESS_KEY="+secret)
	}
}

// place changes the line of the bucket.
func place(f *e2e.FollowerHost, key, old, value string) {
	f.Helper()
	text := f.Read("syncd.yaml")
	if !strings.Contains(string(text), old) {
		f.Fatalf("no %q in\n%s", old, text)
	}
	f.Write("syncd.yaml", strings.Replace(string(text), old, key+": "+value, 1), 0o644)
}

// refuseAs lets the front answer every request that matches with an error of S3.
func refuseAs(f *e2e.FollowerHost, status int, code string, matches func(r *http.Request) bool) {
	f.Front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		if !matches(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>A message of tests.</Message></Error>", code)
		return true
	})
}

func always(*http.Request) bool     { return true }
func ofWrites(r *http.Request) bool { return r.Method == http.MethodPut }

var sickStores = []sickStore{
	{name: "wrong secret key", check: "service", says: []string{"source.s3", "the secret key does not belong to the access key", "AWS_SECRET_ACCESS_KEY"},
		breakIt: func(f *e2e.FollowerHost) { keys(f, buckettest.AccessKey, "another-secret-key") }},
	{name: "unknown access key", check: "service", says: []string{"does not know the access key", "AWS_ACCESS_KEY_ID"},
		breakIt: func(f *e2e.FollowerHost) { keys(f, "UNKNOWNKEY", buckettest.SecretKey) }},
	{name: "half of the credentials", check: "credentials", says: []string{"$AWS_ACCESS_KEY_ID is set, but not $AWS_SECRET_ACCESS_KEY"},
		breakIt: func(f *e2e.FollowerHost) { keys(f, buckettest.AccessKey, "") }},
	{name: "no credentials", check: "service", says: []string{"denies access to the bucket refdata, and no credentials for S3 are found", "AWS_ACCESS_KEY_ID"},
		breakIt: func(f *e2e.FollowerHost) { keys(f, "", "") }},
	{name: "credentials in the shell and not in the unit", check: "service", says: []string{"no credentials for S3 are found", "systemctl edit syncd", "Environment=AWS_SHARED_CREDENTIALS_FILE=%d/bucket"},
		breakIt: func(f *e2e.FollowerHost) {
			unit(f.Host, "Environment=AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/")
		}},
	{name: "wrong key in the unit and the right one in the shell", check: "service", says: []string{"does not know the access key", "in the unit's environment"},
		breakIt: func(f *e2e.FollowerHost) {
			f.Write("s3.env", "AWS_ACCESS_KEY_ID=UNKNOWNKEY\nAWS_SECRET_ACCESS_KEY=another-secret-key\n", 0o600)
			unit(f.Host, "EnvironmentFile="+f.Path("s3.env"))
		}},
	{name: "shared file that the daemon's user cannot read", check: "credentials", says: []string{"user 23456 cannot read the credentials for S3 in", "s3.keys", "permission denied"},
		breakIt: func(f *e2e.FollowerHost) {
			f.Write("s3.keys", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", buckettest.AccessKey, buckettest.SecretKey), 0o600)
			f.Cleanup(func() { f.Must(os.Remove(f.Path("s3.keys"))) })
			giveData(f.Host, e2e.OtherUID, e2e.OtherGID, 0o755)
			unit(f.Host, "User="+stranger, "Environment=AWS_SHARED_CREDENTIALS_FILE="+f.Path("s3.keys"), "Environment=AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/")
		}},
	{name: "wrong key in a credential of the unit", check: "service", says: []string{"does not know the access key", "correct aws_access_key_id in ", "bucket_credentials"},
		breakIt: func(f *e2e.FollowerHost) {
			shippedDropIn(f)
			f.Write("bucket_credentials", "[default]\naws_access_key_id = UNKNOWNKEY\naws_secret_access_key = another-secret-key\n", 0o600)
		}},
	{name: "credential of the unit that does not exist", check: "credentials", says: []string{"the unit loads the credentials for S3 from", "bucket_credentials, which does not exist"},
		breakIt: func(f *e2e.FollowerHost) { shippedDropIn(f) }},
	{name: "shared file in a credential that the unit does not load", check: "credentials", says: []string{"does not load the credential bucket", "LoadCredential=bucket:/etc/syncd/bucket"},
		breakIt: func(f *e2e.FollowerHost) {
			unit(f.Host, "Environment=AWS_SHARED_CREDENTIALS_FILE=%d/bucket", "Environment=AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/")
		}},
	{name: "shared file that the unit hides", check: "sandbox", says: []string{"AWS_SHARED_CREDENTIALS_FILE", "InaccessiblePaths="},
		breakIt: func(f *e2e.FollowerHost) {
			f.Must(os.Mkdir(f.Path("hidden"), 0o755))
			unit(f.Host, "Environment=AWS_ACCESS_KEY_ID="+buckettest.AccessKey, "EnvironmentFile="+secretFile(f), "Environment=AWS_SHARED_CREDENTIALS_FILE="+f.Path("hidden/keys"), "InaccessiblePaths="+f.Path("hidden"))
		}},
	{name: "access denied", check: "service", says: []string{"denies access to the bucket refdata", "allow s3:GetObject to that key"},
		breakIt: func(f *e2e.FollowerHost) { refuseAs(f, http.StatusForbidden, "AccessDenied", always) }},
	{name: "wrong bucket", check: "service", says: []string{"has no bucket wrong-bucket", "source.s3.bucket"},
		breakIt: func(f *e2e.FollowerHost) { place(f, "bucket", "bucket: refdata", "wrong-bucket") }},
	{name: "nothing published yet", check: "service", says: []string{"nothing is published in the bucket refdata below the prefix \"empty/\"", "run `syncd sync` on the publisher"},
		breakIt: func(f *e2e.FollowerHost) { place(f, "prefix", "prefix: mirror/", "empty/") }},
	{name: "wrong region", check: "service", says: []string{"lies in another region", "source.s3.region"},
		breakIt: func(f *e2e.FollowerHost) { place(f, "region", "bucket: refdata", "eu-west-9, bucket: refdata") }},
	{name: "wrong clock", check: "service", says: []string{"this machine's clock differs too much", "timedatectl"},
		breakIt: func(f *e2e.FollowerHost) { refuseAs(f, http.StatusForbidden, "RequestTimeTooSkewed", always) }},
	{name: "session that is over", check: "service", says: []string{"session token", "AWS_SESSION_TOKEN"},
		breakIt: func(f *e2e.FollowerHost) {
			f.Environ = append(f.Environ, "AWS_SESSION_TOKEN=Secret77-of-a-session")
			refuseAs(f, http.StatusBadRequest, "ExpiredToken", always)
		}},
	{name: "server that throttles", check: "service", says: []string{"cannot serve now", "SlowDown"},
		breakIt: func(f *e2e.FollowerHost) { f.Front.Answer(buckettest.SlowDown) }},
	{name: "server that is no S3 service", check: "service", says: []string{"a web page instead of", "source.s3.endpoint"},
		breakIt: func(f *e2e.FollowerHost) {
			page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }))
			f.Cleanup(page.Close)
			place(f, "endpoint", fmt.Sprintf("endpoint: %q", f.Front.Endpoint), fmt.Sprintf("%q", page.URL))
		}},
	{name: "other content under the name of current.json", check: "service", says: []string{"no publication of syncd", "source.s3.prefix"},
		breakIt: func(f *e2e.FollowerHost) {
			f.Store.Put("other/current.json", []byte("{}"))
			place(f, "prefix", "prefix: mirror/", "other/")
		}},
	{name: "manifest that the publisher does not mirror", check: "licence", says: []string{"the bucket has no release latest of x", "let the publisher mirror it"},
		breakIt: func(f *e2e.FollowerHost) { place(f, "- name", "- name: m", "x") }},
	{name: "record that is missing", check: "licence", says: []string{"the bucket lacks a text that it names", "run `syncd publish` on the publisher"},
		breakIt: func(f *e2e.FollowerHost) {
			refuseAs(f, http.StatusNotFound, "NoSuchKey", func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/records/") })
		}},
	{name: "object that is missing", check: "download", says: []string{"404", "run `syncd publish` on the publisher"},
		breakIt: func(f *e2e.FollowerHost) {
			refuseAs(f, http.StatusNotFound, "NoSuchKey", func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/objects/") })
		}},

	{name: "publisher without credentials", publishes: true, check: "bucket", says: []string{"publish.s3: no credentials for S3 are found"},
		breakIt: func(f *e2e.FollowerHost) { keys(f, "", "") }},
	{name: "publisher with a wrong key", publishes: true, check: "bucket", says: []string{"publish.s3", "the secret key does not belong"},
		breakIt: func(f *e2e.FollowerHost) { keys(f, buckettest.AccessKey, "another-secret-key") }},
	{name: "publisher with a wrong bucket", publishes: true, check: "bucket", says: []string{"has no bucket wrong-bucket", "publish.s3.bucket"},
		breakIt: func(f *e2e.FollowerHost) { place(f, "bucket", "bucket: refdata", "wrong-bucket") }},
	{name: "publisher with a wrong region", publishes: true, check: "bucket", says: []string{"lies in another region", "publish.s3.region"},
		breakIt: func(f *e2e.FollowerHost) { place(f, "region", "bucket: refdata", "eu-west-9, bucket: refdata") }},
	{name: "publisher that may only read", publishes: true, check: "bucket", says: []string{"denies access", "s3:PutObject"},
		breakIt: func(f *e2e.FollowerHost) { refuseAs(f, http.StatusForbidden, "AccessDenied", ofWrites) }},
	{name: "publisher that may not delete", publishes: true, check: "bucket", says: []string{"denies access", "s3:DeleteObject"},
		breakIt: func(f *e2e.FollowerHost) {
			refuseAs(f, http.StatusForbidden, "AccessDenied", func(r *http.Request) bool { return r.Method == http.MethodDelete })
		}},
	{name: "publisher whose server cannot be reached", publishes: true, check: "bucket", says: []string{"publish.s3.endpoint", "refused"},
		breakIt: func(f *e2e.FollowerHost) {
			place(f, "endpoint", fmt.Sprintf("endpoint: %q", f.Front.Endpoint), "\"http://"+e2e.FreeAddress(f.Host)+"\"")
		}},
	{name: "destruction in a bucket that keeps versions", publishes: true, check: "bucket", says: []string{"keeps old versions, so that data of m which was destroyed stays in it", "versioning off"},
		breakIt: func(f *e2e.FollowerHost) {
			f.Write("syncd.yaml", config(f)+"    destroy_after: 90d\n", 0o644)
			f.Front.Answer(func(w http.ResponseWriter, r *http.Request) bool {
				if !r.URL.Query().Has("versioning") {
					return false
				}
				fmt.Fprint(w, `<VersioningConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Status>Suspended</Status></VersioningConfiguration>`)
				return true
			})
		}},
	{name: "election on a server without conditions", publishes: true, check: "bucket", says: []string{"election", "does not keep to conditions of writes"},
		breakIt: func(f *e2e.FollowerHost) {
			f.Write("syncd.yaml", "election: {lease: 60s}\n"+config(f), 0o644)
			refuseAs(f, http.StatusNotImplemented, "NotImplemented", ofWrites)
		}},
}

// shippedDropIn installs a unit with the drop-in for followers.
func shippedDropIn(f *e2e.FollowerHost) {
	f.Helper()
	text, err := os.ReadFile("../../../deploy/systemd/syncd.service.d/bucket.conf")
	f.Must(err)
	giveData(f.Host, e2e.OtherUID, e2e.OtherGID, 0o755)
	unit(f.Host, "LoadCredential=customer_id:/nonexistent/id", "User="+stranger, "Environment=AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:1/")
	f.Must(os.Mkdir(f.Path("units/syncd.service.d"), 0o755))
	f.Write("units/syncd.service.d/bucket.conf", strings.Replace(string(text), "/etc/syncd/", f.Dir+"/", 1), 0o644)
}

// secretFile is an environment file with the right secret key, for the time of the test.
func secretFile(f *e2e.FollowerHost) string {
	f.Write("s3.env", "AWS_SECRET_ACCESS_KEY="+buckettest.SecretKey, 0o600)
	f.Cleanup(func() { f.Must(os.Remove(f.Path("s3.env"))) })
	return f.Path("s3.env")
}

func config(f *e2e.FollowerHost) string {
	text := f.Read("syncd.yaml")
	return string(text)
}

// patientStore is a sound host that follows a bucket, or publishes to it.
func patientStore(t *testing.T, store *buckettest.Server, publishes bool) *e2e.FollowerHost {
	t.Helper()
	e2e.AsRoot(t)
	f := &e2e.FollowerHost{Host: e2e.NewHost(t, "m"), Store: store, Front: buckettest.NewFront(t, store)}
	f.Provider.SetManifest("m", "2026.10", emulator.File{Name: "m.dat", Content: emulator.Random(1, 1<<10)})
	if publishes {
		f.ConfigureWith(fmt.Sprintf("publish: {s3: {endpoint: %q, bucket: refdata, prefix: %s/}}", f.Front.Endpoint, filepath.Base(f.Dir)))
		f.Cleanup(f.KeyFree)
	} else {
		f.Follow()
	}
	keys(f, buckettest.AccessKey, buckettest.SecretKey)
	return f
}

func TestDoctorNamesWhatIsWrongWithABucket(t *testing.T) {
	t.Parallel()
	store := buckettest.New(t)
	store.Publish("mirror/", 1, buckettest.Release{Manifest: "m", Release: "2026.10", Files: map[string]string{"m.dat": "good"}})
	for _, s := range sickStores {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			f := patientStore(t, store, s.publishes)
			s.breakIt(f)
			diagnosed(f.Host, s.check, s.says)
		})
	}
	t.Run("a sound follower", func(t *testing.T) {
		t.Parallel()
		f := patientStore(t, store, false)
		out := f.Expect(0, "doctor").Stdout
		f.Contains("the output", out, "ok       credentials: ", "ok       customer ID: a bucket needs no Customer ID", "published generation 1", "ok       licence: the bucket has 1 configured manifest", "ok       download: ")
		f.Expect(0, "sync")
	})
	t.Run("a sound follower with the shipped drop-in", func(t *testing.T) {
		t.Parallel()
		f := patientStore(t, store, false)
		keys(f, "", "")
		shippedDropIn(f)
		f.Write("bucket_credentials", fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", buckettest.AccessKey, buckettest.SecretKey), 0o600)
		f.Cleanup(func() { f.Must(os.Remove(f.Path("bucket_credentials"))) })
		f.Contains("the output", f.Expect(0, "doctor").Stdout, "ok       credentials: ", "user "+stranger, "ok       licence: the bucket has 1 configured manifest")
	})
	t.Run("a sound publisher", func(t *testing.T) {
		t.Parallel()
		f := patientStore(t, store, true)
		f.Contains("the output", f.Expect(0, "doctor").Stdout, "ok       bucket: publish.s3: the bucket can be read and written")
		left, err := filepath.Glob(f.Store.Path(filepath.Base(f.Dir) + "/*/*"))
		f.Must(err)
		e2e.Same(f.Host, "what is left", 0, len(left))
		f.Expect(0, "sync")
		f.Contains("the output", f.Expect(0, "doctor").Stdout, "published generation 1")
	})
}
