package rings

import "syncd/internal/downstream/rings/promotion"

// Version is one revision of a release.
type Version = promotion.Version

// Ring is a group of followers that see a release at the same time.
type Ring = promotion.Ring
