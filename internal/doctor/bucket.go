//go:build linux

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"syncd/internal/clients/signature"
	"syncd/internal/config"
	"syncd/internal/config/document"
	"syncd/internal/config/place"
	"syncd/internal/disk/fsops"
	"syncd/internal/downstream/objectstore"
	"syncd/internal/downstream/publisher"
	"syncd/internal/engine/upload"
	"syncd/internal/host/account"
	"syncd/internal/report"
)

// store is a configured place in object storage.
type store struct {
	config.S3
	key      string // such as source.s3 or publish.s3[1]
	isTarget bool   // it is published to
}

// bucket is the place of the source.
func (s *setup) bucket() store { return store{S3: s.cfg.Source.S3, key: s.sourceAt + ".s3"} }

// checkCredentials looks for the keys that the requests to source.s3 are signed with.
func (s *storage) checkCredentials(ctx context.Context) []Finding {
	if !s.cfg.Source.S3.IsSet() {
		return nil
	}
	found, isThere := s.lookForKeys(ctx)
	if len(found) > 0 || isThere {
		return orGood(found, "requests to the bucket are signed with a key")
	}
	return []Finding{hint(s.giveKeys(), "no credentials for S3 are found: requests are not signed, which only a public bucket permits")}
}

// lookForKeys looks for credentials as the daemon will, and keeps them out of the output.
func (s *storage) lookForKeys(ctx context.Context) (found []Finding, isThere bool) {
	for _, pair := range [][2]string{{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}, {"AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"}} {
		if os.Getenv(pair[0]) != "" && os.Getenv(pair[1]) == "" {
			return []Finding{failure("set both, or none", "$%s is set, but not $%s", pair[0], pair[1])}, false
		}
	}
	ctx, cancel := context.WithTimeout(ctx, storePatience) // a role is asked for over the network
	defer cancel()
	keys, err := s.findKeys(ctx)
	for _, secret := range signature.Secrets() {
		s.addKey(secret)
	}
	var notTried *signature.NotTriedError
	if errors.As(err, &notTried) {
		return []Finding{skippedUntil(s.askWorker(), "the daemon gets the credentials for S3 by %v", notTried)}, false
	}
	if err != nil {
		return s.unreadableKeys(), false
	}
	s.addKey(keys.SecretAccessKey)
	s.addKey(keys.SessionToken)
	if s.keys = keys; keys.AccessKeyID != "" {
		return nil, true
	}
	return s.unreadableKeys(), false
}

// askWorker is how to see what the daemon's user sees, without the terminal of this process.
func (s *storage) askWorker() string {
	if s.unit != nil {
		return "look at `journalctl -u syncd`, or run `systemd-run --pipe --wait --uid=" + s.worker.Name + " syncd doctor`"
	}
	return "log in as user " + s.worker.Name + " and run `syncd doctor`"
}

// minKey is the length of the shortest secret key that S3 servers accept. A shorter one
// would hide words of the output.
const minKey = 8

func (s *storage) addKey(secret string) {
	if len(secret) >= minKey {
		s.AddSecret(secret)
	}
}

// findKeys returns the keys that the daemon gets. systemd reads a credential of the unit as
// root, so this does, too, and does nothing else as root: variables of the unit name files
// and servers, and the daemon's user may have set them.
func (s *storage) findKeys(ctx context.Context) (keys credentials.Value, err error) {
	if s.readsCredential() && os.Getenv("AWS_ACCESS_KEY_ID") == "" {
		path, _ := signature.SharedFile()
		if keys, err = signature.KeysIn(path); err == nil {
			s.keyFile = path
			os.Setenv("AWS_ACCESS_KEY_ID", keys.AccessKeyID) // requests are signed as the daemon's user, who cannot read the file
			os.Setenv("AWS_SECRET_ACCESS_KEY", keys.SecretAccessKey)
			os.Setenv("AWS_SESSION_TOKEN", keys.SessionToken)
		}
		return keys, err
	}
	err = s.asWorker(ctx, func() (err error) {
		keys, err = signature.Credentials().GetWithContext(&credentials.CredContext{Context: ctx})
		return err
	})
	return keys, err
}

// readsCredential is true when the shared file is a credential of the unit.
func (s *storage) readsCredential() bool {
	return s.keyCredential != "" && os.Getenv(sharedVariable) != ""
}

// asWorker runs work with the permissions of the daemon's user, who may own the shared file:
// it may hang.
func (s *storage) asWorker(ctx context.Context, work func() error) error {
	done := make(chan error, 1)
	go func() { done <- s.worker.Do(work) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// signAsDaemon signs with the keys that the daemon gets.
func (s *storage) signAsDaemon(sign Sign) Sign {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), netPatience)
		defer cancel()
		signed := r.Clone(ctx)
		if err := s.asWorker(ctx, func() error { return sign(signed) }); err != nil {
			return err
		}
		r.Header = signed.Header
		return nil
	}
}

// unreadableKeys says that there may be credentials which the daemon, or this user, cannot
// read.
func (s *storage) unreadableKeys() []Finding {
	path, isNamed := signature.SharedFile()
	reader := s.worker
	if s.readsCredential() {
		reader = account.Self()
	}
	err := reader.Do(func() error { _, _, err := fsops.ReadRegular(path, maxKeys); return err })
	isMissing := errors.Is(err, fs.ErrNotExist)
	switch {
	case s.isBlind:
		return []Finding{skippedUntil("run this as root", "the unit may give credentials for S3 in a way that this user cannot read")}
	case s.keyCredential != "" && os.Getenv(sharedVariable) == "":
		return []Finding{failure(dropIn("LoadCredential="+s.keyCredential+":/etc/syncd/"+s.keyCredential), "the unit does not load the credential %s, which %s names", s.keyCredential, sharedVariable)}
	case s.keyCredential != "" && isMissing:
		return []Finding{failure("write the credentials there with mode 600, or take LoadCredential= out of the unit", "the unit loads the credentials for S3 from %s, which does not exist: systemd does not start the daemon", path)}
	case path == "" || err == nil || !isNamed && isMissing:
		return nil
	case os.Geteuid() != 0 && (s.keyCredential != "" || !s.worker.CanDo()):
		return []Finding{skippedUntil("run this as root", "this user cannot read the credentials for S3 in %s", path)}
	}
	return []Finding{failure(fmt.Sprintf("let user %s read it, or set %s", s.worker.Name, sharedVariable), "user %s cannot read the credentials for S3 in %s: %v", s.worker.Name, path, cause(err))}
}

// maxKeys is more than a shared file has, in bytes.
const maxKeys = 1 << 20

// sharedVariable names another shared file.
const sharedVariable = "AWS_SHARED_CREDENTIALS_FILE"

func (s *storage) giveKeys() string {
	if s.unit != nil {
		return "run `systemctl edit syncd` and add, below [Service], LoadCredential=bucket:/etc/syncd/bucket_credentials and Environment=" + sharedVariable + "=%d/bucket, or give the machine a role"
	}
	return "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, write ~/.aws/credentials, or give the machine a role"
}

// keyIn names a part of the credentials, and says where the daemon has it from.
func (s *storage) keyIn(variable string) string {
	path, _ := signature.SharedFile()
	_, err := os.Stat(path)
	switch {
	case s.keyFile != "" || os.Getenv("AWS_ACCESS_KEY_ID") == "" && err == nil:
		return strings.ToLower(variable) + " in " + path
	case s.unit != nil:
		return variable + " in the unit's environment"
	}
	return variable + " in the environment"
}

// checkPublish looks at the bucket of publish.s3 as a publisher does.
func (s *storage) checkPublish(ctx context.Context) []Finding {
	if !s.cfg.Publish.S3.IsSet() {
		return nil
	}
	found, isThere := s.lookForKeys(ctx)
	switch {
	case len(found) > 0:
		return found
	case !isThere:
		return []Finding{failure(s.giveKeys(), "publish.s3: no credentials for S3 are found")}
	}
	for i, t := range s.cfg.Publish.Targets {
		at := store{t.S3, "publish.s3", true}
		if len(s.cfg.Publish.Targets) > 1 {
			at.key = document.Index(at.key, i)
		}
		found = append(found, of(t.Name, s.checkTarget(ctx, t, at))...)
	}
	return append(found, s.judgeUploads(ctx)...)
}

// checkTarget looks at a place as a publisher does.
func (s *storage) checkTarget(ctx context.Context, t place.Target, at store) []Finding {
	place, err := upload.Place(s.cfg, t)
	if err != nil {
		return []Finding{failing(err, "check source.ca_file")}
	}
	place.Credentials = credentials.New(&credentials.Static{Value: s.keys})
	place.Retry.MaxElapsed = min(place.Retry.MaxElapsed, storePatience)
	ctx, cancel := context.WithTimeout(ctx, netPatience)
	defer cancel()
	seen, err := publisher.Look(ctx, place)
	if err != nil {
		code, status := objectstore.AnswerOf(err)
		return []Finding{s.explainStore(at, code, status, err)}
	}
	return slices.Concat(s.judgeSeen(at, seen), s.judgeVersions(at, seen))
}

// judgeVersions finds a bucket that keeps what must be gone.
func (s *storage) judgeVersions(at store, seen publisher.Seen) []Finding {
	i := slices.IndexFunc(s.cfg.Manifests, func(m config.Manifest) bool { return m.DestroyAfter > 0 })
	if i < 0 || !seen.KeepsVersions {
		return nil
	}
	return []Finding{failure("turn the bucket's versioning off, or let a lifecycle rule delete old versions", "%s: the bucket keeps old versions, so that data of %s which was destroyed stays in it", at.key, s.cfg.Manifests[i].Name)}
}

// judgeUploads says what the publisher knows of the bucket.
func (s *storage) judgeUploads(ctx context.Context) []Finding {
	status, err := s.Status(ctx, s.cfg)
	if err != nil || status.Upload == nil { // the check of the manifests says why
		return nil
	}
	var found []Finding
	for _, t := range status.Upload.All() {
		switch {
		case t.State == report.StateDamaged:
			found = append(found, failure("run `syncd publish --verify --repair`; look for a lifecycle rule, or a program that deletes in the bucket", "%s", t.Explanation))
		case t.State == report.StateSuperseded:
			found = append(found, hint("let that host publish, or run `syncd publish --force` here", "%s", t.Explanation))
		case t.Replaced != "" && t.Election == nil && t.Signed == nil:
			found = append(found, hint("if that publisher still runs, let one of both publish there, or set election on both", "publish.s3: what this host published last to %s replaced a generation of %s, the name of another host or of an earlier data_dir", t.Place, t.Replaced))
		}
	}
	return found
}

// storePatience is how long a request to publish.s3 is repeated.
const storePatience = netPatience / 3

func (s *storage) judgeSeen(at store, seen publisher.Seen) []Finding {
	election := s.cfg.Election.Lease > 0
	text := at.key + ": the bucket can be read and written"
	if seen.Current.Generation > 0 {
		text += fmt.Sprintf(", %s published generation %d", seen.Current.Publisher, seen.Current.Generation)
	}
	switch {
	case !seen.HasConditions && election:
		return []Finding{failure("use another server, or a single publisher without election", "election: the S3 server %s does not keep to conditions of writes", at.Endpoint.Host)}
	case !seen.HasConditions:
		return []Finding{hint("let no other host publish to this bucket", "%s: the S3 server %s does not keep to conditions of writes", at.key, at.Endpoint.Host)}
	case election && seen.Lease.Holder != "":
		text += "; " + seen.Lease.Holder + " had the lease last"
	case !election && seen.Lease.Holder != "":
		return []Finding{hint("set election on this host, too, or let a single host publish", "%s: %s publishes to this bucket with an election, and this host without", at.key, seen.Lease.Holder)}
	}
	return []Finding{good("%s", text)}
}

// explainStore explains an error of an S3 server by its code.
func (s *storage) explainStore(at store, code string, status int, err error) Finding {
	host, bucket := at.Endpoint.Host, at.Bucket
	fail := func(next, text string, values ...any) Finding {
		return failure(next, "%s: %s", at.key, fmt.Sprintf(text, values...))
	}
	switch code {
	case "NoSuchBucket", "InvalidBucketName":
		return fail("correct "+at.key+".bucket, or make the bucket", "%s has no bucket %s", host, bucket)
	case "NoSuchKey":
		return fail("run `syncd sync` on the publisher, or correct "+at.key+".prefix", "nothing is published in the bucket %s below the prefix %q", bucket, at.Prefix)
	case "InvalidAccessKeyId", "XAdminUserNotFound": // of AWS, of versitygw
		return fail("correct "+s.keyIn("AWS_ACCESS_KEY_ID"), "%s does not know the access key", host)
	case "SignatureDoesNotMatch":
		return fail("correct "+s.keyIn("AWS_SECRET_ACCESS_KEY")+"; if it is right, let no proxy change the Host header", "%s says that the secret key does not belong to the access key", host)
	case "RequestTimeTooSkewed", "RequestExpired":
		return fail(nextClock, "this machine's clock differs too much from that of %s", host)
	case "ExpiredToken", "InvalidToken":
		return fail("renew "+s.keyIn("AWS_SESSION_TOKEN"), "%s does not accept the session token", host)
	case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect", "IllegalLocationConstraintException", "InvalidRegion", "IncorrectEndpoint":
		return fail("correct "+at.key+".region", "%s says that the bucket %s lies in another region: %v", host, bucket, err)
	}
	return s.explainStatus(at, code, status, err)
}

func (s *storage) explainStatus(at store, code string, status int, err error) Finding {
	switch {
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		text := fmt.Sprintf("%s: %s denies access to the bucket %s", at.key, at.Endpoint.Host, at.Bucket)
		if _, isThere := s.lookForKeys(context.Background()); !isThere {
			return failure(s.giveKeys(), "%s, and no credentials for S3 are found", text)
		}
		return failure("allow "+at.actions()+" to that key; without s3:ListBucket, a bucket in which nothing is published looks the same", "%s", text)
	case status == http.StatusNotFound:
		return failure("check "+at.key+".endpoint, bucket and prefix", "%s: %v", at.key, err)
	case status >= http.StatusInternalServerError, status == http.StatusTooManyRequests:
		return failure("try again later; if it lasts, ask who runs the S3 service", "%s: %s cannot serve now: %v", at.key, at.Endpoint.Host, err)
	case status > 0:
		return failure("check that "+at.key+".endpoint names an S3 service", "%s: %v", at.key, err)
	case isCertificate(err):
		return s.explainTLS(err)
	}
	return failure("check "+at.key+".endpoint and the way to it", "%s: %s gives no valid answer: %v", at.key, at.Endpoint.Host, err)
}

// actions are what the key of a place must be allowed to do.
func (s store) actions() string {
	all := []string{"s3:GetObject"}
	if s.isTarget {
		all = append(all, "s3:ListBucket", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload")
	}
	return english.OxfordWordSeries(all, "and")
}
