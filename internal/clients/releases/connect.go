package releases

import (
	"syncd/internal/clients/transport"
	"syncd/internal/config"
)

// Connect returns a client for a configured source and its Customer ID. It
// sends nothing yet.
func Connect(source config.Source, id config.Secret, options transport.Options) (*Client, error) {
	t, err := transport.Connect(source.Service(), source.URL, id, options)
	if err != nil {
		return nil, err
	}
	return New(t), nil
}
