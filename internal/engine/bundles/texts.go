package bundles

import (
	"syncd/internal/downstream/bucket"
	"syncd/internal/downstream/generations"
	"syncd/internal/report"
)

// Texts are those of a bundle of everything that is live.
func Texts(editions *generations.Generations) (texts report.BundleTexts, err error) {
	if texts.Current, _, err = editions.Current(""); err != nil {
		return texts, err
	}
	current, err := bucket.ParseCurrent(texts.Current)
	if err != nil {
		return texts, err
	}
	if edition, found := editions.Text("", current.Generation); found {
		texts.Generation = edition.Text
	}
	for version := 1; version <= current.Trust.Version; version++ {
		text, _ := editions.Trust(version)
		texts.Trust = append(texts.Trust, text)
	}
	return texts, nil
}
