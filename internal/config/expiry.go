package config

import (
	"syncd/internal/config/document"
	"syncd/internal/manifest/expiry"
)

// expires is the setter of `expires`.
func expires(to *expiry.Rule) document.Setter {
	return func(d *document.Decoder, path string, n *document.Node) {
		if n.Kind != document.MappingKind {
			d.Fail(path, "must be a mapping", "write {after: 3mo} or {after: 105d, warn: 14d}")
			return
		}
		d.Mapping(path, n, document.Table{
			"after": document.Scalar(&to.After, parseSpan),
			"warn":  document.Scalar(&to.Warn, parseDays),
		})
		if !d.IsSet(path+".after") && !d.IsSet(path+".warn") {
			d.Fail(path, "is empty", "write {after: 3mo} or {after: 105d, warn: 14d}")
		}
	}
}

// parseSpan drops the error of expiry.ParseSpan, which quotes the text.
func parseSpan(text string) (expiry.Span, *document.Fault) {
	span, err := expiry.ParseSpan(text)
	if err != nil {
		return expiry.Span{}, document.Refuse("is no number of months or days", "use months such as 3mo, up to 120mo, or days such as 105d, up to 3660d")
	}
	return span, nil
}

// parseDays drops the error of expiry.ParseDays, which quotes the text.
func parseDays(text string) (int, *document.Fault) {
	days, err := expiry.ParseDays(text)
	if err != nil {
		return 0, document.Refuse("is no number of days", "use a form such as 14d, up to 3660d")
	}
	return days, nil
}

// parseOnExpiry is true for withdraw.
func parseOnExpiry(text string) (withdraw bool, f *document.Fault) {
	if text != "keep" && text != "withdraw" {
		return false, document.Refuse("is neither keep nor withdraw", "use keep or withdraw")
	}
	return text == "withdraw", nil
}
