package report

// BundleTexts are the texts with which a bundle of what is live begins. They are not for
// people.
type BundleTexts struct {
	Current    []byte   `json:"current"`
	Generation []byte   `json:"generation"`
	Trust      [][]byte `json:"trust,omitempty"` // the first version first
}
