package report

// The results of publishing to object storage, as JSON and metrics name them.
const (
	Uploaded        Result = "published"
	UploadUnchanged Result = "unchanged"
	Standby         Result = "standby" // another publisher holds the lease
	UploadPending   Result = "pending" // a newer call publishes what is served, once the bucket is free
	UploadFailed    Result = "failed"
)

// Upload is the outcome of publishing to object storage.
type Upload struct {
	Result     Result      `json:"result"`
	Generation int         `json:"generation"`          // in the bucket
	Objects    int         `json:"objects"`             // uploaded
	Bytes      int64       `json:"bytes"`               // of these
	Kept       []string    `json:"kept,omitempty"`      // manifests that another publisher has newer
	Collected  *Collection `json:"collected,omitempty"` // what was deleted; nil if nothing was looked for
	Error      string      `json:"error"`

	Served int `json:"-"` // the generation of this host that the bucket shows; 0 if it does not
}

// Collection is what a garbage collection of the bucket deleted.
type Collection struct {
	Objects int   `json:"objects"`
	Bytes   int64 `json:"bytes"`   // of these
	Texts   int   `json:"texts"`   // records and generations
	Uploads int   `json:"uploads"` // that were never finished
}
