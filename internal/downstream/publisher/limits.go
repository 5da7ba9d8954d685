package publisher

import (
	"time"

	"syncd/internal/downstream/objectstore"
)

// The limits of the jobs. A publication may ask for more with each object that it uploads:
// see contents.Config.Grow.
var (
	limitsOfPublication  = objectstore.Limits{Requests: 10_000, Bytes: 256 << 20, Time: time.Hour}
	limitsOfCollection   = objectstore.Limits{Requests: 500_000, Bytes: 16 << 30, Time: time.Hour}
	limitsOfVerification = objectstore.Limits{Requests: 500_000, Bytes: 16 << 30, Time: time.Hour} // of texts; it may ask for more for each object
	limitsOfLook         = objectstore.Limits{Requests: 100, Bytes: 32 << 20, Time: 10 * time.Minute}
)
