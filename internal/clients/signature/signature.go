package signature

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// Credentials returns the credentials of the environment (AWS_ACCESS_KEY_ID and its like),
// of the shared file (AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE), or of the role of this
// machine, pod or task, unless AWS_EC2_METADATA_DISABLED is true. Those of a role are
// renewed. Followers do not sign requests without any; publishers refuse to begin. The error
// is a *NotTriedError if the shared file names a program that another user can choose.
func Credentials() *credentials.Credentials {
	all := []credentials.Provider{&credentials.EnvAWS{}, &credentials.EnvMinio{}, &shared{}}
	if os.Getenv("AWS_EC2_METADATA_DISABLED") != "true" {
		all = append(all, &role{IAM: credentials.IAM{Client: &http.Client{Timeout: patience}}})
	}
	return credentials.New(&chain{all: all})
}

// chain asks one provider after the other. Unlike the chain of the library it ends at a
// program that was not tried: the role of this machine would be another identity.
type chain struct {
	all  []credentials.Provider
	last credentials.Provider // that gave keys, nil for none
}

// RetrieveWithCredContext is called by one goroutine at a time.
func (c *chain) RetrieveWithCredContext(cc *credentials.CredContext) (credentials.Value, error) {
	c.last = nil
	for _, p := range c.all {
		keys, err := p.RetrieveWithCredContext(cc)
		if errors.As(err, new(*NotTriedError)) {
			return credentials.Value{}, err
		}
		if keys.AccessKeyID != "" || keys.SecretAccessKey != "" {
			c.last = p
			return keys, nil
		}
	}
	return credentials.Value{SignerType: credentials.SignatureAnonymous}, nil
}

// Retrieve is for callers without a context.
func (c *chain) Retrieve() (credentials.Value, error) { return c.RetrieveWithCredContext(nil) }

// IsExpired is true when the keys must be asked for again.
func (c *chain) IsExpired() bool { return c.last == nil || c.last.IsExpired() }

// Secrets returns the secrets in the environment. Nothing else that runs on this machine
// needs those of syncd.
func Secrets() (secrets []string) {
	for _, name := range []string{"AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY", "AWS_SESSION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "MINIO_SECRET_KEY", "MINIO_ROOT_PASSWORD"} {
		if value := os.Getenv(name); value != "" {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// emptyBody is the SHA-256 of no bytes.
const emptyBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Signer returns a function that signs requests without a body, for a region.
func Signer(keys *credentials.Credentials, region string) func(*http.Request) error {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		key, err := keys.GetWithContext(&credentials.CredContext{Context: ctx})
		if err != nil || key.SignerType.IsAnonymous() {
			return err
		}
		r.Header.Set("X-Amz-Content-Sha256", emptyBody)
		signer.SignV4(*r, key.AccessKeyID, key.SecretAccessKey, key.SessionToken, region) // changes the headers only
		return nil
	}
}

// Again signs a request again whose headers were changed after it was signed. The region
// stays.
func Again(r *http.Request, keys *credentials.Credentials) error {
	_, scope, found := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	parts := strings.Split(strings.SplitN(scope, ",", 2)[0], "/") // KEY/DATE/REGION/s3/aws4_request
	if !found || len(parts) < 5 {
		return nil // it was not signed
	}
	key, err := keys.GetWithContext(&credentials.CredContext{Context: r.Context()})
	if err != nil {
		return err
	}
	r.Header.Del("Authorization")
	signer.SignV4(*r, key.AccessKeyID, key.SecretAccessKey, key.SessionToken, parts[len(parts)-3]) // changes the headers only
	return nil
}

// patience is how long the service that gives a role its keys may take.
const patience = 10 * time.Second

// role asks for the keys of a role. On machines without roles it would ask in vain before
// each request, so that it asks again after a while only.
type role struct {
	credentials.IAM
	failedAt time.Time
	err      error
}

// pause is how long role does not ask again.
const pause = time.Minute

// RetrieveWithCredContext is called by one goroutine at a time.
func (r *role) RetrieveWithCredContext(c *credentials.CredContext) (credentials.Value, error) {
	if r.err != nil && time.Since(r.failedAt) < pause {
		return credentials.Value{}, r.err
	}
	value, err := r.IAM.RetrieveWithCredContext(c)
	r.failedAt, r.err = time.Now(), err
	return value, err
}
